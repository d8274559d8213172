import { z } from 'zod'
import type { ApiKey } from '../../domain/api-key.ts'
import { formatTimestamp } from '../../domain/timestamp.ts'
import { EntrepotError } from '../../errors.ts'
import type { ApiKeys } from '../../registry/api-keys.ts'
import { invalidBody } from '../../registry/errors.ts'
import { objectBody } from '../middleware/body.ts'
import { readIntegerParameter } from '../parameters.ts'
import { type IntegerParameter, json, type Route } from '../route.ts'
import { timestamp } from '../wire.ts'

const MAX_NAME_LENGTH = 128

const scope = z.enum(['read', 'write'], "Input should be 'read' or 'write'")

/** The length of `name` is counted in code points, before trimming. Further members are ignored. */
const mintRequest = z
  .looseObject({
    name: z
      .string({
        error: ({ input }) => (input === undefined ? 'Field required' : 'Input should be a valid string'),
      })
      .min(1, 'String should have at least 1 character')
      .refine(
        (name) => [...name].length <= MAX_NAME_LENGTH,
        `String should have at most ${MAX_NAME_LENGTH} characters`,
      )
      .meta({ maxLength: MAX_NAME_LENGTH }),
    scope: scope.default('read'),
  })
  .meta({ id: 'MintRequest' })

const mintedKey = z
  .object({
    id: z.int(),
    name: z.string(),
    scope,
    key: z.string().describe('The raw key: shown here and never again'),
    created_at: timestamp,
  })
  .meta({ id: 'MintedKey' })

const apiKey = mintedKey
  .omit({ key: true })
  .extend({ revoked_at: timestamp.nullable() })
  .meta({ id: 'ApiKey' })

/** Answers that hold a raw key must not be cached. */
const NO_STORE = { 'Cache-Control': 'no-store' }

export const mintKey = (keys: ApiKeys): Route => ({
  method: 'POST',
  path: '/admin/api-keys',
  gate: 'admin',
  summary: 'Mint an API key',
  description: 'A read key satisfies the read routes, a write key both. The raw key is shown this once.',
  body: mintRequest,
  responses: { 201: { description: 'The key', schema: mintedKey } },
  handle: async (exchange) => {
    const request = mintRequest.safeParse(objectBody(exchange).value)
    if (!request.success) throw invalidBody(request.error)
    const { key, raw } = await keys.mint(request.data.name.trim(), request.data.scope)
    const { id, name, scope, createdAt } = key
    const minted = { id, name, scope, key: raw, created_at: formatTimestamp(createdAt) }
    return { ...json(minted, 201), headers: NO_STORE }
  },
})

export const listKeys = (keys: ApiKeys): Route => ({
  method: 'GET',
  path: '/admin/api-keys',
  gate: 'admin',
  summary: 'List the API keys',
  description: 'Newest first, revoked ones included, never a key itself.',
  responses: { 200: { description: 'Their metadata', schema: z.array(apiKey) } },
  handle: () => json(keys.list().map(onWire)),
})

const KEY_ID: IntegerParameter = {
  name: 'key_id',
  in: 'path',
  description: 'The numeric id',
  schema: { type: 'integer' },
}

export const revokeKey = (keys: ApiKeys): Route => ({
  method: 'DELETE',
  path: '/admin/api-keys/:key_id',
  gate: 'admin',
  summary: 'Revoke an API key',
  description: 'Again on a revoked key it changes nothing and succeeds.',
  parameters: [KEY_ID],
  responses: { 204: { description: 'Revoked' } },
  problems: [404, 422],
  handle: async ({ params }) => {
    const id = readIntegerParameter(KEY_ID, params.key_id)!
    if (await keys.revoke(id)) return { status: 204 }
    throw new EntrepotError('not_found', `API key ${id} not found`)
  },
})

const onWire = ({ id, name, scope, createdAt, revokedAt }: ApiKey) => ({
  id,
  name,
  scope,
  created_at: formatTimestamp(createdAt),
  revoked_at: revokedAt === null ? null : formatTimestamp(revokedAt),
})
