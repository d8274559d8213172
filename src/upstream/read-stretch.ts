import type { Page } from '../domain/page.ts'
import type { ListingQuery } from '../domain/query.ts'
import { SourceError } from '../domain/source-error.ts'
import type { UpstreamOptions } from '../domain/upstream.ts'
import { Exclusions } from '../filter-spec/exclusions.ts'
import { type FetchListings, queryParameters } from './fetch-listings.ts'
import { itemFilter } from './item-filter.ts'
import { newestFirst } from './newest-first.ts'
import { MIN_PAGE_ITEMS } from './read-prefix.ts'

/**
 * Reads an upstream on from `query.offset`: one request, whatever lies before. The filters are sent, and every
 * criterion is evaluated again on what comes back.
 *
 * `total` is what the upstream says.
 * @throws SourceError `bad_envelope` for an answer that is too short for what there is to come
 */
export const readStretch = async (
  upstream: Pick<UpstreamOptions, 'name'>,
  fetch: FetchListings,
  query: ListingQuery,
  signal: AbortSignal,
): Promise<Page> => {
  const { offset } = query
  const { items, received, total, freshness } = await fetch(query, offset, signal)
  if (received < Math.min(MIN_PAGE_ITEMS, total - offset))
    throw new SourceError('bad_envelope', `${upstream.name}: sends less than it says it has`)
  const times = items.map(({ item }) => item.createdAt)
  const invalid = received - items.length
  const exclusions = query.explain ? new Exclusions(query.criteria) : null
  const matching = items.filter(itemFilter(query, exclusions))
  return {
    items: matching.map(({ item }) => item).sort(newestFirst),
    total,
    ageSeconds: 0,
    stale: false,
    ...freshness,
    ...(invalid === 0 ? {} : { invalid }),
    ...(exclusions === null
      ? {}
      : { explanation: { sent: queryParameters(query).toString(), excluded: exclusions.list } }),
    stretch: {
      passed: received,
      first: items[0]?.item ?? null,
      oldest: times.length === 0 ? null : Math.min(...times),
      isLast: offset + received >= total,
    },
  }
}
