import { z } from 'zod'
import { plural } from '../../domain/plural.ts'
import { SORTS } from '../../domain/price/price-parameters.ts'
import { MAX_LIMIT } from '../../domain/query.ts'
import { renderItem } from '../../gateway/envelope.ts'
import type { Market, Page } from '../../gateway/market.ts'
import type { MarketQuery, MarketRequest } from '../../gateway/market-query.ts'
import { countUnchecked } from '../../gateway/source-report.ts'
import { at, type JsonObject, parseObject } from '../../json/value.ts'
import { describeSuggestions, describeUnplaced } from '../../wire/describe-hints.ts'
import { type Family, familiesOf, renderLines } from '../listing-line.ts'
import { describeMatches, describeUnchecked, refuseSplitValues } from '../notices.ts'
import { DETAIL, defineTool, MARKET_INPUT, marketQuery, type ToolOutput } from '../tool.ts'

const DEFAULT_LIMIT = 20

export const searchListingsTool = defineTool({
  name: 'search_listings',
  title: 'Search listings',
  description:
    'Listings of all reachable Registries, merged, each once: a line each, with its id or the beginning of it, and its ' +
    'lowest price with decimals applied. Offers of one seller that differ in region alone are one line. Ask for models ' +
    'and places by gpu, country and continent, which know all spellings; describe_filters has all names. Read the first ' +
    'sentence before you conclude anything: after INCOMPLETE neither a short nor an empty answer means that nothing else ' +
    'exists. UNCHECKED: call get_listing before you act on it.',
  input: {
    ...MARKET_INPUT,
    sort: z
      .enum(SORTS)
      .default('newest')
      .describe('price: cheapest first over all that match, in price_token or else token by token'),
    limit: z.int().min(1).max(MAX_LIMIT).default(DEFAULT_LIMIT).describe('Lines'),
    cursor: z
      .string()
      .min(1)
      .optional()
      .describe('Of the page before; all else but limit has to be the same'),
    ...DETAIL,
  },
  run: async (market, { sort, limit, cursor = null, detail, ...input }, request) => {
    const query = marketQuery(market, input, sort)
    await refuseSplitValues(market, query, request)
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
  const credible = families.filter(([first]) => at(first, '_meta', 'price', 'outlier') !== true)
  const shown = credible.length < length ? `${plural(credible.length, 'line')} for ${length}` : `${length}`
  const { nextCursor, total } = page
  const left = asked.cursor === null && page.isTotalExact ? `${total - length} more match` : 'More match'
  const more = nextCursor === undefined ? [] : [`${left}: pass cursor to continue.`]
  return {
    notice: [
      await describePage(market, query, page, shown, request),
      ...describeOutliers(families.length - credible.length),
      ...more,
    ].join(' '),
    lines: [...(nextCursor === undefined ? [] : [`cursor: ${nextCursor}`]), ...renderLines(credible)],
  }
}

/** Lines of prices that are far below those of their model. */
function describeOutliers(count: number): string[] {
  if (count === 0) return []
  return [
    `Left out: ${plural(count, 'offer')} below 1 % of the median price of the model, probably bait; detail "full" has ${count === 1 ? 'it' : 'them'}.`,
  ]
}

/** Reads on where families leave room: as many listings as make at most `limit` lines. */
async function readFamilies(
  market: Market,
  query: MarketQuery,
  { limit, cursor }: Asked,
  request: MarketRequest,
): Promise<{ page: Page; families: readonly Family[] }> {
  const read = async (count: number, suggests = false) => {
    const page = await market.page({ ...query, limit: count, offset: 0, cursor, suggests }, request)
    const listings = page.items.map((item): JsonObject => parseObject(renderItem(item).toString()))
    return { page, listings, families: familiesOf(listings) }
  }
  const first = await read(limit, true)
  const { suggestions, nextCursor } = first.page
  if (first.families.length === first.listings.length || nextCursor === undefined) return first
  const { listings, families } = await read(MAX_READ)
  const next = families[limit]?.[0]
  const last = await read(next === undefined ? listings.length : listings.indexOf(next))
  return { ...last, page: { ...last.page, suggestions } }
}

async function describePage(
  market: Market,
  query: MarketQuery,
  page: Page,
  shown: string,
  request: MarketRequest,
): Promise<string> {
  const count = `${shown} of ${page.isTotalExact ? '' : 'at most '}${page.total} matching listings`
  const words = [
    ...describeSuggestions(page.total, page.suggestions),
    await describeMatches(market, query, page, count, request),
    ...describeUnplaced(page.unplaced),
    describeUnchecked(countUnchecked(page.items)),
  ]
  return words.filter((part) => part !== null).join(' ')
}

/** Clients may cut the end, so completeness comes first. */
function render({ items, total, isTotalExact, complete, sources, nextCursor, ...hints }: Page): string {
  const { unplaced, suggestions } = hints
  const head = JSON.stringify({
    complete,
    sources,
    count: items.length,
    total_after_filter: total,
    total_is: isTotalExact ? undefined : 'at_most',
    unchecked: countUnchecked(items) || undefined,
    unplaced,
    suggestions,
    next_cursor: nextCursor,
  })
  const texts = items.map((item) => renderItem(item).toString())
  return `${head.slice(0, -1)},"items":[${texts.join(',')}]}`
}
