import { z } from 'zod'
import { PRICE_PERS } from '../domain/price/price-key.ts'
import { sourceReportSchema } from './source.ts'

const facet = z
  .object({
    values: z
      .array(z.object({ value: z.string(), count: z.int() }))
      .describe('The most frequent ones, as a filter takes them'),
    other: z.int().describe('Sum of the counts of further values'),
    missing: z.int().describe('Listings without a value'),
  })
  .meta({ id: 'Facet', description: 'Listings per value. A listing counts once for each of its values' })

const amount = z.string().describe('In whole tokens, or in base units where `decimals` is absent; rounded up')

export const unplacedSchema = z
  .record(z.string(), z.int())
  .optional()
  .describe('By derived filter: listings that match all other filters, and do not say enough for this one')

const priceRange = z
  .object({
    chain: z.string(),
    token: z.string().describe('Address, in lower case'),
    symbol: z.string().optional().describe("From the operator's file"),
    decimals: z.int().optional(),
    unit: z.string().describe('`hour` for every unit of time'),
    price_per: z.enum(PRICE_PERS),
    offers: z.int().describe('Listings with such a price, each at its lowest'),
    gpus: z.int(),
    least: amount,
    median: amount,
    most: amount,
  })
  .meta({ id: 'PriceRange', description: 'Prices in one token and unit' })

export const facetsSchema = z
  .object({
    total: z.int().describe('Matching listings'),
    total_is: z.literal('at_most').optional().describe('As in a page of listings'),
    unplaced: unplacedSchema,
    facets: z.record(z.string(), facet).describe('By the names of `by`'),
    prices: z.array(priceRange).describe('Most offers first'),
    complete: z.boolean(),
    sources: z.array(sourceReportSchema),
  })
  .meta({ id: 'MarketFacets' })

export type FacetJson = z.infer<typeof facet>
export type PriceRangeJson = z.infer<typeof priceRange>
export type FacetsJson = z.infer<typeof facetsSchema>
