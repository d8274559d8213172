import { z } from 'zod'
import { VALUE_TYPES } from './literals.ts'
import { ALIAS_KINDS } from './operations/operation.ts'
import { OPS } from './operations/operations.ts'
import { OVERRIDE_PREFIX, PROTOCOL_PARAMETERS } from './parameters.ts'
import { compilePath } from './path.ts'
import { QUERY_NAME } from './query-names.ts'
import { VERSIONED_SCHEMA } from './schema-id.ts'

export const MAX_FILTERS = 256
const MAX_NAME_CHARACTERS = 128
const MAX_ALIASES = 16
const FILTERS = 'In the order of GET /filter-spec'

/** `2`, `2.0`, `"2"` and `true` are valid, as in the deployed protocol. */
const version = z.preprocess((value) => {
  if (typeof value === 'boolean') return Number(value)
  return typeof value === 'string' && /^\s*\+?\d{1,15}(?:\.0+)?\s*$/.test(value) ? Number(value) : value
}, z.int().min(1))

const flag = z.preprocess((value) => {
  if (/^(?:1|t|true|y|yes|on)$/i.test(String(value))) return true
  return /^(?:0|f|false|n|no|off)$/i.test(String(value)) ? false : value
}, z.boolean())

const name = z
  .string()
  .min(1)
  .max(MAX_NAME_CHARACTERS)
  .refine((text) => !PROTOCOL_PARAMETERS.has(text), {
    error: ({ input }) => `'${input}' is a query parameter of the protocol: choose another name`,
  })
  .refine((text) => !text.startsWith(OVERRIDE_PREFIX), {
    error: `'${OVERRIDE_PREFIX}' begins the names of overrides: choose another name`,
  })

const path = z
  .string()
  .min(1)
  .superRefine((text, context) => {
    try {
      compilePath(text)
    } catch (cause) {
      context.addIssue({ code: 'custom', message: (cause as Error).message })
    }
  })

const queryName = z.string().max(MAX_NAME_CHARACTERS).regex(QUERY_NAME, {
  error: "a name of the query language is of letters, digits, '_', '.', '-', first no digit",
})

/** What buyers of the signed line call a filter in their query language. */
export const queryNames = z.object({
  query_name: queryName.nullable().default(null).describe('Its name in the query language of signed buyers'),
  query_aliases: z
    .array(queryName)
    .max(MAX_ALIASES)
    .default([])
    .describe('Further names in the query language of signed buyers'),
})

const comparison = z.object({
  op: z.enum(OPS).describe('What a value is compared by'),
  value_type: z.enum(VALUE_TYPES).describe('How a value is read'),
})

export const filterEntry = z
  .strictObject({
    name: name.describe('The query parameter of GET /listings'),
    path: path.describe('Where the value is in a listing, such as $.offer_resource.region'),
    ...queryNames.shape,
    ...comparison.shape,
    alias_kind: z
      .enum(ALIAS_KINDS)
      .nullable()
      .default(null)
      .describe('Which end of a range a bare value sets'),
    on_missing: z
      .enum(['fail', 'pass'])
      .default('fail')
      .describe('Whether a listing without the value matches'),
    indexed: flag.default(false).describe('Without effect'),
  })
  .refine((entry) => entry.op !== 'range' || ['integer', 'number'].includes(entry.value_type), {
    path: ['value_type'],
    error: "op 'range' needs value_type 'integer' or 'number'",
    when: ({ value }) => comparison.safeParse(value).success,
  })

/** A text has its version in itself, and its major version as `version`, which begins with 1. */
const schemaIdentity = z.preprocess(
  (value) => {
    const major = typeof value === 'string' ? VERSIONED_SCHEMA.exec(value)?.[3] : undefined
    return major === undefined ? value : { id: value, version: Number(major) || 1 }
  },
  z.strictObject({
    id: z.string().min(1).describe('The schema of the listings, such as vms.compute'),
    version: version.default(1).describe('The version of that schema'),
  }),
)

/** docs/protocol.md#71-the-file. Filters and the listing shape are checked separately. */
export const specFile = z
  .strictObject({
    version: version.describe('The version of this filter spec'),
    schema: schemaIdentity.nullish().describe('What the listings are'),
    schema_identity: schemaIdentity.nullish().describe('Another spelling of schema'),
    listing_shape: z.record(z.string(), z.unknown()).describe('JSON Schema 2020-12 of a listing'),
    filters: z.array(z.unknown()).max(MAX_FILTERS).describe(FILTERS),
  })
  .refine((file) => !(file.schema && file.schema_identity), {
    path: ['schema_identity'],
    error: "is another spelling of 'schema': write only one of them",
  })

/** For editors and tests of a file. Paths and the listing shape are checked by `parseFilterSpec` alone. */
export const filterSpecSchema = (): object =>
  z.toJSONSchema(specFile.safeExtend({ filters: z.array(filterEntry).max(MAX_FILTERS).describe(FILTERS) }), {
    target: 'draft-7',
    io: 'input',
    unrepresentable: 'any',
  })
