import { z } from 'zod'
import { LISTING_STATUSES, type ListingStatus } from '../domain/listing.ts'
import { PRICE_PERS } from '../domain/price/price-key.ts'
import type { PriceTexts, Sort } from '../domain/price/price-parameters.ts'

const MAX_FILTERS = 50
export const MAX_TEXT = 1000
const MAX_SOURCES = 100
const MAX_PRICE_TEXT = 128

/** Which listings a tool reads. */
export const MARKET_INPUT = {
  filters: z
    .record(z.string().min(1).max(MAX_TEXT), z.union([z.string().max(MAX_TEXT), z.number(), z.boolean()]))
    .refine((filters) => Object.keys(filters).length <= MAX_FILTERS, `At most ${MAX_FILTERS} filters`)
    .default({})
    .describe(
      'By name, such as {"gpu_model": "in:[H100,H200]", "vcpu_count_min": 64}. A value is ' +
        'plain, or a set: in:[a,b], not_in:[a,b], range:[16,128], range:[16,), exists:true. "strict.NAME": true ' +
        'drops listings that lack the field of the filter NAME, false keeps them. Names: describe_filters',
    ),
  status: z
    .enum([...LISTING_STATUSES, 'all'])
    .default('open')
    .describe('all: every status'),
  publisher: z.string().max(MAX_TEXT).optional().describe('Signing address of one seller'),
  sources: z
    .array(z.string().max(MAX_TEXT))
    .max(MAX_SOURCES)
    .optional()
    .describe('Only these sources, by their names in list_sources. Default: all'),
  price_token: z
    .string()
    .max(MAX_PRICE_TEXT)
    .optional()
    .describe('The token whose prices compare: USDC on every chain, base:USDC or base:0x8335…'),
  price_max: z
    .string()
    .max(MAX_PRICE_TEXT)
    .optional()
    .describe('Only listings with a price of at most this many whole tokens of price_token, such as "2.10"'),
  price_per: z.enum(PRICE_PERS).optional().describe('Price of one GPU (default), or of the whole offer'),
}

type MarketInput = z.output<z.ZodObject<typeof MARKET_INPUT>>

export function marketQuestion({ filters, status, publisher, sources, ...prices }: MarketInput, sort?: Sort) {
  const { price_token, price_max, price_per } = prices
  const texts: PriceTexts = { sort, price_token, price_max, price_per }
  return {
    filters: Object.entries(filters).map(([name, value]) => [name, String(value)] as const),
    status: status === 'all' ? null : (status as ListingStatus),
    publisher: publisher?.toLowerCase() || null,
    prices: texts,
    sources: sources === undefined || sources.length === 0 ? null : sources,
  }
}
