import { z } from 'zod'
import { PRICE_PERS } from '../domain/price/price-key.ts'
import { violationSchema } from './problem.ts'
import { sourceReportSchema, sourcesCountedSchema } from './source.ts'

const amount = z.string().describe('In whole tokens, or in base units where `decimals` is absent; rounded up')

const priceRange = z
  .object({
    symbol: z.string().optional().describe("Of known tokens, over all chains; from the operator's file"),
    testnet: z.boolean().optional().describe('Of test networks: worth nothing'),
    chains: z
      .array(z.object({ chain: z.string(), offers: z.int() }))
      .describe(
        'Where the offers are, most offers first; a listing counts on each chain that it accepts, outliers, too',
      ),
    token: z.string().optional().describe('Address of a token that is not known, in lower case'),
    decimals: z.int().optional(),
    unit: z.string().describe('`hour` for every unit of time'),
    price_per: z.enum(PRICE_PERS),
    offers: z.int().describe('Listings with such a price, each once, at its lowest; without outliers'),
    outliers: z
      .int()
      .optional()
      .describe('Listings whose price is below 1 % of the lower median of their model; absent for none'),
    gpus: z.int(),
    least: amount,
    least_gpus: z
      .int()
      .optional()
      .describe('GPUs that one has to take at that price; with `symbol`, where a listing counts them'),
    median: amount,
    most: amount,
  })
  .meta({ id: 'PriceRange', description: 'Prices in one symbol and unit, or in one token that is not known' })

const facet = z
  .object({
    values: z
      .array(
        z.object({
          value: z.string(),
          count: z.int(),
          at_least: z
            .literal(true)
            .optional()
            .describe('A source is not counted: there may be more. 0 for known models that were not seen'),
          prices: z
            .array(priceRange)
            .optional()
            .describe('With `prices_by`: of the listings with this value'),
        }),
      )
      .describe('The most frequent ones, as a filter takes them'),
    other: z.int().describe('Sum of the counts of further values'),
    missing: z.int().describe('Listings without a value'),
  })
  .meta({ id: 'Facet', description: 'Listings per value. A listing counts once for each of its values' })

const notCounted = z
  .partialRecord(
    z.enum(['outlier', 'testnet', 'whole', 'unsized', 'other', 'unreadable', 'none']),
    z.int().describe('Listings'),
  )
  .meta({
    id: 'NotCounted',
    description: 'Matching listings that the leading price leaves out, each by one reason',
  })

export const unplacedSchema = z
  .record(z.string(), z.int())
  .optional()
  .describe('By derived filter: listings that match all other filters, and do not say enough for this one')

export const suggestionsSchema = z
  .array(z.object({ query: z.record(z.string(), z.string()), total: z.int() }))
  .optional()
  .describe('The same question in other words, where that finds others')

export const privateSourcesSchema = z
  .literal(true)
  .optional()
  .describe('The operator says that there are private sources, which this reader does not see')

export const facetsSchema = z
  .object({
    total: z.int().describe('Matching listings'),
    gpus: z.int().describe('Of the matching listings that count theirs, with a price or without'),
    unplaced: unplacedSchema,
    suggestions: suggestionsSchema,
    warnings: z.array(violationSchema).optional().describe('As in `GET /listings`'),
    facets: z.record(z.string(), facet).describe('By the names of `by`'),
    prices: z
      .array(priceRange)
      .describe('Hours in known tokens first, then those of test networks; of each, most offers first'),
    sellers: z.int().describe('Different publishers of the matching listings'),
    outliers: z
      .int()
      .optional()
      .describe('Listings with a price that `prices` leaves out as an outlier; absent for none'),
    not_counted: notCounted,
    summary: z.string().describe('The leading price, and what it rests on, in one or two sentences'),
    private_sources: privateSourcesSchema,
    complete: z.boolean(),
    sources: z.array(sourceReportSchema),
    sources_counted: sourcesCountedSchema,
  })
  .meta({ id: 'MarketFacets' })

export type FacetJson = z.infer<typeof facet>
export type PriceRangeJson = z.infer<typeof priceRange>
export type NotCounted = z.infer<typeof notCounted>
export type FacetsJson = z.infer<typeof facetsSchema>
