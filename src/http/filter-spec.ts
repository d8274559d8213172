import { z } from 'zod'
import { ALIAS_KINDS, type FilterSpec, OPS, VALUE_TYPES } from '../filter-spec/filter.ts'
import { renderFilterSpec } from '../filter-spec/wire.ts'
import { namesEtag } from './etag.ts'
import { IF_NONE_MATCH } from './parameters.ts'
import type { Route } from './route.ts'

const filter = z.looseObject({
  name: z.string(),
  path: z.string(),
  op: z.enum(OPS),
  value_type: z.enum(VALUE_TYPES),
  alias_kind: z.enum(ALIAS_KINDS).nullable(),
  on_missing: z.enum(['fail', 'pass']),
  indexed: z.boolean(),
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

/** The vocabulary, with a strong ETag (`protocol.md` 1.13, 8). */
export const getFilterSpec = (spec: FilterSpec): Route => {
  const body = renderFilterSpec(spec)
  const headers = { ETag: `"${spec.etag}"` }
  return {
    method: 'GET',
    path: '/filter-spec',
    gate: 'read',
    summary: 'What may be asked, and what a listing looks like',
    parameters: [IF_NONE_MATCH],
    answers: {
      200: { description: 'The filter vocabulary and the listing shape', schema: filterSpec },
      304: { description: 'It is the one that you know' },
    },
    handle: ({ header }) =>
      namesEtag(header('if-none-match'), spec.etag) ? { status: 304, headers } : { body, headers },
  }
}
