import { z } from 'zod'
import { ALIAS_KINDS, OPS, VALUE_TYPES } from '../../filter-spec/filter.ts'
import type { ReadVocabulary } from '../../gateway/vocabulary.ts'
import { namesEtag } from '../etag.ts'
import { IF_NONE_MATCH } from '../parameters.ts'
import type { Route } from '../route.ts'

const filter = z.looseObject({
  name: z.string(),
  path: z.string(),
  op: z.enum(OPS),
  value_type: z.enum(VALUE_TYPES),
  alias_kind: z.enum(ALIAS_KINDS).nullable(),
  on_missing: z.enum(['fail', 'pass']),
  indexed: z.boolean(),
  registries: z.array(z.string()).optional().describe('The only Registries that declare it, at a gateway'),
})

const filterSpec = z
  .looseObject({
    version: z.int(),
    etag: z.string(),
    listing_shape: z.looseObject({}).describe('JSON Schema 2020-12 of a listing'),
    filters: z.array(filter),
    schema: z.looseObject({ id: z.string(), version: z.int() }).optional(),
  })
  .meta({ id: 'FilterSpec' })

const MAX_WAIT_MS = 4000

export const getFilterSpec = (vocabulary: ReadVocabulary): Route => ({
  method: 'GET',
  path: '/filter-spec',
  gate: 'read',
  summary: 'What may be asked, and what a listing looks like',
  description:
    'At a gateway: our own spec, and behind it the filters that only upstreams declare, each with their names.',
  parameters: [IF_NONE_MATCH],
  responses: {
    200: { description: 'The filter vocabulary and the listing shape', schema: filterSpec },
    304: { description: 'It is the one that you know' },
  },
  handle: async ({ header, reader, signal }) => {
    // Two gateways that start together and request each other must not wait for each other.
    const isGateway = header('cdn-loop') !== undefined
    const deadline = { ms: MAX_WAIT_MS, caller: signal }
    const { etag, body } = await vocabulary(reader, deadline, isGateway ? [] : undefined)
    const headers = { ETag: `"${etag}"`, Vary: 'Authorization' }
    return namesEtag(header('if-none-match'), etag) ? { status: 304, headers } : { body, headers }
  },
})
