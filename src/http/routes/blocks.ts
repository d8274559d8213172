import { z } from 'zod'
import { keyOf, OPERATOR_NAME } from '../../domain/api-key.ts'
import { type Block, readSubject, subjectText } from '../../domain/block.ts'
import { suggestName } from '../../domain/nearest-name.ts'
import { formatTimestamp, type Micros } from '../../domain/timestamp.ts'
import { EntrepotError } from '../../errors.ts'
import type { Blocks } from '../../registry/blocks.ts'
import { invalid, invalidBody } from '../../registry/errors.ts'
import { type BlockJson, blockRequestSchema, blockSchema } from '../../wire/block.ts'
import { objectBody } from '../middleware/body.ts'
import { readIntegerParameter } from '../parameters.ts'
import { integerParameter, json, NO_STORE, type Route } from '../route.ts'

/** @param sources names that a block can have */
export const blockRoutes = (blocks: Blocks, sources: readonly string[]): Route[] => [
  {
    method: 'POST',
    path: '/admin/blocks',
    gate: 'admin',
    act: 'block.add',
    summary: 'Block a publisher, a storefront or a listing',
    description:
      'From now on no answer has its listings, on any replica. Copies in sources that the block does not name are shown. The ' +
      'own Registry refuses its publishes and updates with 403, and lets it delete.',
    body: blockRequestSchema,
    responses: { 201: { description: 'The block', schema: blockSchema } },
    handle: async (request) => {
      const parsed = blockRequestSchema.safeParse(objectBody(request).value)
      if (!parsed.success) throw invalidBody(parsed.error)
      const { subject: text, reason, source = null, until = null } = parsed.data
      const subject = readSubject(text)
      if (subject === null) throw invalid([{ path: 'body.subject', message: NO_SUBJECT }])
      if (source !== null && !sources.includes(source)) throw unknownSource(source, sources)
      request.note({
        subject: source === null ? subjectText(subject) : `${subjectText(subject)} in ${source}`,
      })
      const by = keyOf(request.caller)?.name ?? OPERATOR_NAME
      const block = await blocks.add({
        subject,
        source,
        reason,
        by,
        until: until === null ? null : endOfDay(until),
      })
      return { ...json(toJson(block), 201), headers: NO_STORE }
    },
  },
  {
    method: 'GET',
    path: '/admin/blocks',
    gate: 'admin',
    summary: 'List the blocks',
    description: 'Newest first, ended ones included.',
    responses: { 200: { description: 'The blocks', schema: z.array(blockSchema) } },
    handle: () => ({ ...json(blocks.list().map(toJson)), headers: NO_STORE }),
  },
  {
    method: 'DELETE',
    path: '/admin/blocks/:block_id',
    gate: 'admin',
    act: 'block.end',
    summary: 'Undo a block',
    description: 'Undoing a block that has ended succeeds and changes nothing.',
    parameters: [BLOCK_ID],
    responses: { 204: { description: 'Undone' } },
    problems: [404, 422],
    handle: async ({ params, note }) => {
      const id = readIntegerParameter(BLOCK_ID, params.block_id)!
      const block = blocks.list().find((one) => one.id === id)
      if (block !== undefined) note({ subject: `block ${id} of ${subjectText(block.subject)}` })
      if (await blocks.end(id)) return { status: 204 }
      throw new EntrepotError('not_found', `Block ${id} not found`)
    },
  },
]

const BLOCK_ID = integerParameter('path', 'block_id', 'The numeric id')

const NO_SUBJECT =
  'expected 0x and 40 hex digits, ed25519: and a key, the URL of a storefront without a query, or PUBLISHER/LISTING_ID'

const unknownSource = (source: string, sources: readonly string[]): EntrepotError =>
  invalid([
    {
      path: 'body.source',
      message: `there is no source ${JSON.stringify(source)}${suggestName(source, sources)}; known are ${sources.join(', ')}`,
    },
  ])

const MICROS_PER_DAY = 86_400_000_000

/** The first moment after that day in UTC. */
const endOfDay = (date: string): Micros => Date.parse(`${date}T00:00:00Z`) * 1000 + MICROS_PER_DAY

const toJson = ({ id, subject, source, reason, by, createdAt, until, endedAt }: Block): BlockJson => ({
  id,
  subject: subjectText(subject),
  source,
  reason,
  by,
  created_at: formatTimestamp(createdAt),
  until: until === null ? null : formatTimestamp(until),
  ended_at: endedAt === null ? null : formatTimestamp(endedAt),
})
