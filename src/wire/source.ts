import { z } from 'zod'
import { wireInstant } from './time.ts'
import { trafficSchema } from './traffic.ts'

const SOURCE_STATES = ['loaded', 'stale', 'loading', 'partial', 'unavailable', 'not_yet_loaded'] as const

export const sourceReportSchema = z
  .looseObject({
    registry: z.string().describe("A source's name; eu/curated for what the gateway eu reports as missing"),
    mode: z.literal('local').optional().describe("The gateway's own Registry"),
    state: z.enum([...SOURCE_STATES, 'skipped']),
    reason: z.string().optional(),
    filters: z.array(z.string()).optional(),
    matched: z.int().nullable().optional().describe('Before listings of better sources are left out'),
    returned: z.int().optional(),
    held: z
      .int()
      .optional()
      .describe('Of a source that is loading or partial: its listings that are here, the newest'),
    of: z.int().optional().describe('How many it has'),
    age_seconds: z.int().optional(),
    elapsed_ms: z.int().optional(),
    invalid: z.int().optional(),
    via: z.array(z.string()).optional().describe('Gateways that reported it as missing'),
  })
  .meta({ id: 'SourceReport', description: 'How one source answered this query' })

/** From so many visible sources on, an answer counts those of which there is nothing to say. */
export const MANY_SOURCES = 100

export const sourcesCountedSchema = z
  .object({
    loaded: z.int(),
    age_seconds: z.int().optional().describe('Of the oldest of their readings'),
  })
  .optional()
  .meta({
    id: 'SourcesCounted',
    description: `From ${MANY_SOURCES} visible sources on: how many more there are than \`sources\` names. All of them have answered, and none has an item in this answer`,
  })

export const sourceStatusSchema = z
  .looseObject({
    registry: z.string(),
    mode: z.literal('local').optional().describe("The gateway's own Registry"),
    visibility: z.enum(['public', 'private']),
    state: z.enum(SOURCE_STATES),
    age_seconds: z.int().nullable().describe('Of what is held'),
    last_error: z.object({ reason: z.string(), at: wireInstant }).nullable(),
    schema_id: z.string().nullable(),
    filters: z.array(z.string()).nullable(),
    listings: z.int().nullable().describe('Open listings that are held'),
    held: z
      .int()
      .optional()
      .describe('How many are held, where they are not all; `listings` are those that the reader sees'),
    of: z.int().optional().describe('How many it has, where they are not all held'),
    gaps: z
      .array(
        z.looseObject({
          registry: z.string(),
          state: z.enum(['unavailable', 'not_yet_loaded', 'loading', 'partial', 'skipped']),
          reason: z.string().optional(),
          held: z.int().optional(),
          of: z.int().optional(),
          age_seconds: z.int().optional().describe('Age of its listings, where they are still shown'),
        }),
      )
      .optional()
      .describe('Of a gateway: the sources that its latest answer reports as missing'),
  })
  .meta({ id: 'SourceStatus' })

const failure = z.object({
  reason: z.string(),
  at: wireInstant,
  detail: z.string().describe('The cause in words'),
})

export const sourceDetailsSchema = sourceStatusSchema
  .extend({
    last_error: failure.nullable(),
    certificate_ends_at: wireInstant
      .nullable()
      .optional()
      .describe('Of its TLS certificate; null where none was seen'),
    breaker: z
      .object({
        state: z.enum(['closed', 'open', 'half_open']),
        failures_in_a_row: z.int(),
        retry_at: wireInstant.nullable(),
        suspended: z
          .object({ reason: z.string(), until: wireInstant })
          .nullable()
          .describe('After a rejected key or Retry-After: no calls until then'),
      })
      .optional(),
    bytes: z.int().optional().describe('Memory of its listings'),
    calls: z
      .object({
        made: z.int(),
        failed: z.int(),
        retried: z.int(),
        failures_by_reason: z.record(z.string(), z.int()),
        ended: z.int(),
        elapsed_ms: z.int().describe('Sum over all finished calls'),
      })
      .optional(),
    items: z.object({ received: z.int(), invalid: z.int() }).optional(),
    followed: z
      .object({
        behind_seconds: z.int().describe('Since its stream was heard; it sends a comment every 15 s'),
      })
      .optional()
      .describe('While its stream of changes is open'),
    missed_changes: z
      .int()
      .optional()
      .describe('Listings that its stream of changes had missed, as pulls showed'),
    failures: z.array(failure).optional().describe('The latest, newest first'),
    settings: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
      .optional()
      .describe('In effect, by their names in the gateway file; the key only as whether there is one'),
    traffic: trafficSchema.optional(),
    left_out: z
      .array(z.object({ rule: z.string(), listings: z.int().nullable() }))
      .optional()
      .describe(
        'Open listings that each rule of [curation] and each block leaves out; null for what `only` leaves out of an upstream, which is not held, and for a source without an answer',
      ),
  })
  .meta({ id: 'SourceDetails' })

/** What an agent reads of a source. */
export const sourceNoteSchema = z.looseObject({
  registry: z.string(),
  state: z.string(),
  reason: z.string().optional(),
})

export type SourceReport = Immutable<z.infer<typeof sourceReportSchema>>
export type SourceStatusJson = Immutable<z.infer<typeof sourceStatusSchema>>
export type SourceDetailsJson = Immutable<z.infer<typeof sourceDetailsSchema>>
export type SourceNote = Readonly<z.infer<typeof sourceNoteSchema>>
/** Sources that are counted in place of being named. */
export type SourcesCounted = Immutable<NonNullable<z.infer<typeof sourcesCountedSchema>>>

/** Without the unknown members of loose objects. */
type Immutable<T> = unknown extends T
  ? T
  : T extends readonly (infer Element)[]
    ? readonly Immutable<Element>[]
    : T extends object
      ? { readonly [Name in keyof T as unknown extends T[Name] ? never : Name]: Immutable<T[Name]> }
      : T
