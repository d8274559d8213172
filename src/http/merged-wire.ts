import { z } from 'zod'
import { envelope } from './wire.ts'

const STATES = ['loaded', 'stale', 'unavailable', 'not_yet_loaded', 'skipped'] as const

const explanation = z.looseObject({
  query: z.string().optional().describe('What the source was sent, without paging'),
  cache: z.string().describe('Cache outcome'),
  breaker: z.string().optional().describe('State of its circuit breaker'),
  excluded: z.record(
    z.string(),
    z.object({ by_value: z.int(), missing: z.int() }).describe('Listings that one filter excluded'),
  ),
})

export const sourceReport = z
  .looseObject({
    registry: z.string().describe("A source's name; eu/curated for what the gateway eu reports as missing"),
    state: z.enum(STATES),
    reason: z.string().optional(),
    filters: z.array(z.string()).optional(),
    matched: z.int().nullable().optional(),
    returned: z.int().optional(),
    age_seconds: z.int().optional(),
    elapsed_ms: z.int().optional(),
    invalid: z.int().optional(),
    via: z.array(z.string()).optional().describe('Gateways that reported it as missing'),
    explain: explanation.optional(),
  })
  .meta({ id: 'SourceReport', description: 'How one source answered this question' })

const provenance = z
  .looseObject({
    registry: z.string().describe('The source whose copy this is'),
    publisher: z.string().optional().describe('Signing address, where it is known'),
    also_in: z.array(z.string()),
    stale: z.boolean(),
    differs: z.boolean().optional(),
    conflict: z.boolean().optional(),
    disputed: z
      .array(z.string())
      .optional()
      .describe('Better sources whose publishers have this one at another storefront'),
    position: z.string().optional().describe('Where the listing is ordered, if not at `created_at`'),
  })
  .meta({ id: 'Provenance' })

export const mergedListing = z
  .looseObject({
    listing_id: z.string(),
    created_at: z.string().describe('ISO 8601; UTC where it has no offset'),
    _meta: provenance,
  })
  .meta({ id: 'MergedListing', description: "The bytes of the listing's own Registry, and `_meta`" })

export const mergedEnvelope = envelope
  .extend({
    items: z.array(mergedListing),
    complete: z
      .boolean()
      .describe(
        'Every visible source answered, fresh or stale, and none reported its own answer as incomplete',
      ),
    sources: z.array(sourceReport),
    next_cursor: z.string().optional().describe('Where there is more'),
  })
  .meta({ id: 'MergedEnvelope' })
