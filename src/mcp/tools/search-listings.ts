import { z } from 'zod'
import { SORTS } from '../../domain/price/price-parameters.ts'
import { MAX_CURSOR_LENGTH, MAX_LIMIT } from '../../domain/query.ts'
import type { SearchResult } from '../../gateway/discovery.ts'
import { describeMatches } from '../notices.ts'
import {
  COMPLETENESS,
  defineTool,
  listingItem,
  MARKET_INPUT,
  marketQuestion,
  UNTRUSTED_TEXT,
} from '../tool.ts'

/** A listing takes about 300 tokens of an agent's context. */
const DEFAULT_LIMIT = 20

export const searchListingsTool = defineTool({
  name: 'search_listings',
  title: 'Search listings',
  description:
    'Listings of an open compute market (GPU machines, API credits) from all reachable Registries, merged, each once, ' +
    'newest or cheapest first; with sort price or price_max, _meta.price is the price that was compared. All filters have to match; describe_filters lists them. Read `complete` before you conclude ' +
    'anything: if it is false, the notice and `sources` say what is missing and why, and neither a short nor an empty ' +
    `answer means that nothing else exists. ${UNTRUSTED_TEXT}`,
  input: {
    ...MARKET_INPUT,
    sort: z
      .enum(SORTS)
      .default('newest')
      .describe(
        'price: cheapest first, over every listing that matches; with price_token in that token only, else token by ' +
          'token, most offers first. Listings without such a price come last',
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
    next_cursor: z.string().optional().describe('Cursor of the next page, if there is one'),
    items: z.array(listingItem),
  },
  run: async (discovery, { sort, limit, cursor, ...input }, signal) => {
    const search = { ...marketQuestion(input, sort), limit, cursor: cursor ?? null }
    const found = await discovery.search(search, signal)
    const count = `${found.items.length} of ${found.total} matching listings`
    const matches = await describeMatches(discovery, search, found, count, signal)
    const more =
      found.nextCursor === undefined ? '' : ' More listings match: call again with next_cursor as cursor.'
    return { notice: matches + more, json: render(found) }
  },
})

/** Clients may cut the end, so completeness comes first. */
function render({ items, total, complete, sources, nextCursor }: SearchResult): string {
  const head = JSON.stringify({
    complete,
    sources,
    count: items.length,
    total_after_filter: total,
    next_cursor: nextCursor,
  })
  return `${head.slice(0, -1)},"items":[${items.join(',')}]}`
}
