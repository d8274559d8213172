import { z } from 'zod'
import { LISTING_STATUSES } from '../../domain/listing.ts'
import { MAX_LIMIT } from '../../domain/query.ts'
import { MAX_CURSOR_LENGTH } from '../../gateway/cursor.ts'
import type { SearchResult } from '../../gateway/discovery.ts'
import { describeCompleteness } from '../notices.ts'
import { COMPLETENESS, defineTool, listingItem, UNTRUSTED_TEXT } from '../tool.ts'

/** A listing takes about 300 tokens of an agent's context. */
const DEFAULT_LIMIT = 20
const MAX_FILTERS = 50
const MAX_TEXT = 1000
const MAX_SOURCES = 100

export const searchListingsTool = defineTool({
  name: 'search_listings',
  title: 'Search listings',
  description:
    'Listings of an open compute market (GPU machines, API credits) from all reachable Registries, merged, newest ' +
    'first, each once. All filters have to match; describe_filters lists them. Read `complete` before you conclude ' +
    'anything: if it is false, the notice and `sources` say what is missing and why, and neither a short nor an empty ' +
    `answer means that nothing else exists. ${UNTRUSTED_TEXT}`,
  input: {
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
  run: async (discovery, { filters, status, publisher, sources, limit, cursor }, signal) => {
    const found = await discovery.search(
      {
        filters: Object.entries(filters).map(([name, value]) => [name, String(value)] as const),
        status: status === 'all' ? null : status,
        publisher: publisher?.toLowerCase() || null,
        sources: sources === undefined || sources.length === 0 ? null : sources,
        limit,
        cursor: cursor ?? null,
      },
      signal,
    )
    return { notice: describe(found), json: render(found) }
  },
})

function describe(found: SearchResult): string {
  const { items, total, complete, nextCursor } = found
  const where = complete ? '' : ' in the sources that answered'
  const count =
    total === 0 && items.length === 0
      ? `No listing matches${where}.`
      : `${items.length} of ${total} matching listings${where}.`
  const more = nextCursor === undefined ? '' : ' More listings match: call again with next_cursor as cursor.'
  return `${describeCompleteness(found)} ${count}${more}`
}

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
