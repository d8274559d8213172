import { z } from 'zod'
import { SORTS } from '../../domain/price/price-parameters.ts'
import { MAX_CURSOR_LENGTH, MAX_LIMIT } from '../../domain/query.ts'
import { renderItem } from '../../gateway/envelope.ts'
import type { Page } from '../../gateway/market.ts'
import { countUnchecked } from '../../gateway/source-report.ts'
import { describeSuggestions, describeUnplaced } from '../../wire/describe-hints.ts'
import { mergedEnvelopeSchema } from '../../wire/listing.ts'
import { describeMatches, describeUnchecked } from '../notices.ts'
import {
  COMPLETENESS,
  defineTool,
  listingItem,
  MARKET_INPUT,
  marketQuery,
  totalIs,
  UNTRUSTED_TEXT,
} from '../tool.ts'

/** A listing takes about 300 tokens of an agent's context. */
const DEFAULT_LIMIT = 20

export const searchListingsTool = defineTool({
  name: 'search_listings',
  title: 'Search listings',
  description:
    'Listings of an open compute market (GPU machines, API credits) from all reachable Registries, merged, each once, ' +
    'newest or cheapest first; with sort price or price_max, _meta.price is the price that was compared. All filters ' +
    'have to match; describe_filters lists them. Ask for models and places by gpu, country and continent, which know all ' +
    'spellings; `unplaced` counts what does not say enough. Read `complete` before you conclude anything: if it is false, the ' +
    'notice and `sources` say what is missing and why, and neither a short nor an empty answer means that nothing else ' +
    'exists. The best Registry that has a listing decides its terms. Where a better one could not be asked, the item ' +
    'has _meta.unchecked: it may have other terms there, so call get_listing before you act on it, and a later page ' +
    `may repeat it. ${UNTRUSTED_TEXT}`,
  input: {
    ...MARKET_INPUT,
    sort: z
      .enum(SORTS)
      .default('newest')
      .describe(
        'price: cheapest first, over every listing that matches; with price_token in that token only, else token by ' +
          'token, most publishers first. Listings without such a price come last',
      ),
    limit: z.int().min(1).max(MAX_LIMIT).default(DEFAULT_LIMIT).describe('Page size'),
    cursor: z
      .string()
      .min(1)
      .max(MAX_CURSOR_LENGTH)
      .optional()
      .describe(
        'next_cursor of the previous page; every other argument but limit must be the same as for that page',
      ),
  },
  output: {
    ...COMPLETENESS,
    count: z.int().describe('Listings on this page'),
    total_after_filter: z.int().describe('Matches before paging, in the sources that answered'),
    total_is: totalIs,
    unchecked: z.int().optional().describe('Items with _meta.unchecked on this page; absent for none'),
    ...mergedEnvelopeSchema.pick({ unplaced: true, suggestions: true }).shape,
    next_cursor: z.string().optional().describe('Cursor of the next page, if there is one'),
    items: z.array(listingItem),
  },
  run: async (market, { sort, limit, cursor, ...input }, request) => {
    const query = marketQuery(market, input, sort)
    const page = await market.page({ ...query, limit, offset: 0, cursor: cursor ?? null }, request)
    const bound = page.isTotalExact ? '' : 'at most '
    const count = `${page.items.length} of ${bound}${page.total} matching listings`
    const matches = await describeMatches(market, query, page, count, request)
    const more =
      page.nextCursor === undefined ? null : 'More listings match: call again with next_cursor as cursor.'
    const words = [
      ...describeSuggestions(page.total, page.suggestions),
      matches,
      ...describeUnplaced(page.unplaced),
      describeUnchecked(countUnchecked(page.items)),
      more,
    ]
    return { notice: words.filter((part) => part !== null).join(' '), json: render(page) }
  },
})

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
