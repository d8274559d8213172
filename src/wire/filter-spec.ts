import { z } from 'zod'
import { VALUE_TYPES } from '../filter-spec/literals.ts'
import { ALIAS_KINDS } from '../filter-spec/operations/operation.ts'
import { OPS } from '../filter-spec/operations/operations.ts'

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

export const filterSpecSchema = z
  .looseObject({
    version: z.int(),
    etag: z.string(),
    listing_shape: z.looseObject({}).describe('JSON Schema 2020-12 of a listing'),
    filters: z.array(filter),
    schema: z.looseObject({ id: z.string(), version: z.int() }).optional(),
  })
  .meta({ id: 'FilterSpec' })

export type FilterSpecJson = z.infer<typeof filterSpecSchema>
