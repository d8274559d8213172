import { z } from 'zod'
import { plural } from '../../domain/plural.ts'
import { SORTS } from '../../domain/price/price-parameters.ts'
import { MAX_LIMIT } from '../../domain/query.ts'
import type { Market, Page } from '../../gateway/market.ts'
import type { MarketQuery, MarketRequest } from '../../gateway/market-query.ts'
import type { MergedItem } from '../../gateway/pages/merged-item.ts'
import { renderItem } from '../../gateway/pages/render.ts'
import { countUnchecked, sourceMembers } from '../../gateway/source-report.ts'
import { at, type JsonObject, parseObject } from '../../json/value.ts'
import { describeOutliers, describeSuggestions, describeUnplaced } from '../../wire/describe-hints.ts'
import { type Family, familiesOf, renderLines } from '../listing-line.ts'
import { describeMatches, describeUnchecked, shownValue } from '../notices.ts'
import { plainName, quoted } from '../quoted.ts'
import {
  DETAIL,
  defineTool,
  MARKET_INPUT,
  MAX_TEXT,
  marketQuery,
  renderValue,
  type ToolOutput,
} from '../tool.ts'

const DEFAULT_LIMIT = 20

/** Other tools refer to these descriptions: an agent reads them once. */
const DESCRIBED_INPUT: typeof MARKET_INPUT = {
  filters: MARKET_INPUT.filters.describe(
    'By name: {"gpu": ["H100", "H200"], "continent": "EU", "vcpu_count_min": 64}. An array is any of several. Also ' +
      '"range:[16,128]", "not_in:[a,b]", "exists:true"; "strict.NAME": false keeps listings that do not say',
  ),
  status: MARKET_INPUT.status,
  publisher: MARKET_INPUT.publisher.describe("A seller's address"),
  sources: MARKET_INPUT.sources.describe('Only these of list_sources'),
  price_token: MARKET_INPUT.price_token.describe('USDC (any chain), or base:USDC'),
  price_max: MARKET_INPUT.price_max.describe('Ceiling: 2.10; default token: the first known'),
  testnet: MARKET_INPUT.testnet.describe(
    'With price_token: also test networks, whose tokens are worth nothing',
  ),
  price_per: MARKET_INPUT.price_per.describe('gpu (default), whole offer, GB of GPU memory or FP16 TFLOP'),
}

export const searchListingsTool = defineTool({
  name: 'search_listings',
  description:
    'Listings of all reachable Registries, each once: a line each, with its id or its beginning, and its lowest price. ' +
    'Offers of one seller that differ in region alone are one line. gpu, country and ' +
    'continent know all spellings; describe_filters has all names. Read the first ' +
    'sentence before you conclude anything: after INCOMPLETE neither a short nor an empty answer means that nothing else ' +
    'exists. UNCHECKED: call get_listing before you act on it.',
  input: {
    ...DESCRIBED_INPUT,
    sort: z
      .enum(SORTS)
      .optional()
      .describe('Default: price (cheapest first) with a model or price_max, else newest'),
    limit: z.int().min(1).max(MAX_LIMIT).default(DEFAULT_LIMIT).describe('Lines'),
    cursor: z
      .string()
      .min(1)
      .optional()
      .describe('Of the page before; all else but limit has to be the same'),
    ...DETAIL,
  },
  run: async (market, { sort, limit, cursor = null, detail, ...input }, request) => {
    const query = marketQuery(market, input, { sort, prefersCheapest: true })
    if (detail === 'lines') return describeLines(market, query, { limit, cursor }, request)
    const page = await market.page({ ...query, limit, offset: 0, cursor }, request)
    const notice = await describePage(market, query, page, `${page.items.length}`, request)
    return { notice, json: render(page) }
  },
})

type Asked = { limit: number; cursor: string | null }

/** Listings that are read for the lines of one answer. */
const MAX_READ = 500

async function describeLines(
  market: Market,
  query: MarketQuery,
  asked: Asked,
  request: MarketRequest,
): Promise<ToolOutput> {
  const { page, families } = await readFamilies(market, query, asked, request)
  const { length } = page.items
  const shown = families.length < length ? `${plural(families.length, 'line')} for ${length}` : `${length}`
  const { nextCursor, total } = page
  const left = asked.cursor === null ? `${total - length} more match` : 'More match'
  const more = nextCursor === undefined ? [] : [`${left}: pass cursor to continue.`]
  return {
    notice: [await describePage(market, query, page, shown, request), ...describeLeftOut(page), ...more].join(
      ' ',
    ),
    lines: [
      ...(nextCursor === undefined ? [] : [`cursor: ${nextCursor}`]),
      ...renderLines(families),
      ...renderNearMisses(page.nearMisses),
    ],
  }
}

/** Each with the one thing that differs. */
function renderNearMisses(misses: Page['nearMisses'] = []): string[] {
  if (misses.length === 0) return []
  const lines = misses.flatMap(({ differs: { filter, wanted, has }, merged }) => {
    const value = has === null ? 'does not say' : renderValue(filter, String(has))
    const difference = `${plainName(filter, MAX_TEXT)} is ${value}, wanted ${quoted(wanted, MAX_WANTED)}`
    return renderLines(familiesOf([readItem(merged)])).map((line) => `${line}|DIFFERS: ${difference}`)
  })
  return ['Closest, each with one difference:', ...lines]
}

const MAX_WANTED = 64

const readItem = (item: MergedItem): JsonObject => parseObject(renderItem(item).toString())

/** What lines leave out. */
function describeLeftOut({ items }: Page): string[] {
  const { length } = items.filter(({ price }) => price?.outlier === true)
  if (length === 0) return []
  return [`Left out: ${describeOutliers(length)}; detail "full" has ${length === 1 ? 'it' : 'them'}.`]
}

/** Reads on where families and outliers leave room: as many listings as make at most `limit` lines. */
async function readFamilies(
  market: Market,
  query: MarketQuery,
  { limit, cursor }: Asked,
  request: MarketRequest,
): Promise<{ page: Page; families: readonly Family[] }> {
  const read = async (count: number, suggests = false) => {
    const page = await market.page({ ...query, limit: count, offset: 0, cursor, suggests }, request)
    const listings = page.items.map(readItem)
    return { page, listings, families: familiesOf(listings).filter(([first]) => !isOutlier(first)) }
  }
  const first = await read(limit, true)
  const { suggestions, nextCursor } = first.page
  if (first.families.length >= limit || nextCursor === undefined) return first
  const { listings, families } = await read(MAX_READ)
  const next = families[limit]?.[0]
  const last = await read(Math.max(1, next === undefined ? listings.length : listings.indexOf(next)))
  return { ...last, page: { ...last.page, suggestions } }
}

const isOutlier = (listing: JsonObject): boolean => at(listing, '_meta', 'price', 'outlier') === true

async function describePage(
  market: Market,
  query: MarketQuery,
  page: Page,
  shown: string,
  request: MarketRequest,
): Promise<string> {
  const count = `${shown} of ${page.total} matching listings`
  const words = [
    await describeMatches(market, query, page, count, request),
    ...describeSuggestions(page.total, page.suggestions, shownValue),
    ...describeUnplaced(page.unplaced),
    describeUnchecked(countUnchecked(page.items)),
  ]
  return words.filter((part) => part !== null).join(' ')
}

/** Clients may cut the end, so completeness comes first. */
function render({ items, total, complete, nextCursor, ...page }: Page): string {
  const { unplaced, suggestions, nearMisses = [] } = page
  const head = JSON.stringify({
    complete,
    ...sourceMembers(page),
    count: items.length,
    total_after_filter: total,
    unchecked: countUnchecked(items) || undefined,
    unplaced,
    suggestions,
    next_cursor: nextCursor,
  })
  const texts = items.map((item) => renderItem(item).toString())
  const near = nearMisses.map(
    ({ differs, merged }) => `{"differs":${JSON.stringify(differs)},"listing":${renderItem(merged)}}`,
  )
  const misses = near.length === 0 ? '' : `,"near_misses":[${near.join(',')}]`
  return `${head.slice(0, -1)},"items":[${texts.join(',')}]${misses}}`
}
