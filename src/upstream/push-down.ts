import type { ListingQuery } from '../domain/query.ts'
import { SourceError } from '../domain/source/source-error.ts'
import { isSameFilter } from '../filter-spec/filter.ts'
import { readJsonSet, trim } from '../filter-spec/literals.ts'
import { setFormOf } from '../filter-spec/operations/operations.ts'
import { filterNameOf } from '../filter-spec/parameters.ts'
import type { UpstreamSpec } from '../filter-spec/upstream-spec.ts'

/** A query as an upstream is asked it: it applies the filters that are pushed down to it. */
export type UpstreamQuery = Pick<
  ListingQuery,
  'status' | 'publisher' | 'criteria' | 'listingId' | 'via' | 'trace'
> & {
  /** Name and raw value of the filters that the upstream applies. The other criteria are evaluated here. */
  pushed: ListingQuery['filters']
  /** Etag of the upstream's filter spec that `pushed` fits, sent as `If-Match`. */
  ifMatch?: string
}

/** Listings of any status. */
export const UNFILTERED: UpstreamQuery = { status: null, publisher: null, criteria: [], pushed: [] }
/** Every Registry can answer it. */
export const PLAIN_QUERY: UpstreamQuery = { ...UNFILTERED, status: 'open' }

type PushDownOptions = {
  /** Names that the upstream has refused. */
  refused?: ReadonlySet<string> | undefined
  /** Whether derived filters are sent, too: an entrepot judges them by its own tables. Default: false. */
  sendsDerived?: boolean
}

/**
 * The query as an upstream is sent it: with the filters that it declares identically, and its spec's etag as `If-Match`. The
 * other criteria, `unsentFilters`, are left to be evaluated here.
 */
export function pushDown(
  query: ListingQuery,
  spec: UpstreamSpec | null,
  { refused = new Set(), sendsDerived = false }: PushDownOptions = {},
): UpstreamQuery {
  const sent = new Set<string>()
  for (const { filter } of query.criteria) {
    const declared = spec?.filters.get(filter.name)
    const isDeclared =
      filter.parseDerived === undefined
        ? declared !== undefined && isSameFilter(declared, filter)
        : sendsDerived && declared === undefined
    if (isDeclared && !refused.has(filter.name)) sent.add(filter.name)
  }
  for (const [parameter, value] of query.filters) if (isJsonSet(value)) sent.delete(filterNameOf(parameter))
  // Filters without a value have no effect, and the upstream may not know them.
  const isSent = ([parameter, value]: readonly [string, string]): boolean =>
    value !== '' && sent.has(filterNameOf(parameter))
  const pushed = query.filters.filter(isSent)
  const ifMatch = pushed.length > 0 ? spec?.etag : null
  return { ...query, pushed, ...(ifMatch ? { ifMatch } : {}) }
}

/** A deployed Registry would read pieces of its values. */
function isJsonSet(value: string): boolean {
  const form = setFormOf(value)
  return form !== null && readJsonSet(trim(value.slice(form.length + 1))) !== null
}

/** `null` where the error has another cause than the filters that were sent. A 500 can be caused by one odd listing. */
export function rejectionOf(
  sent: UpstreamQuery,
  error: unknown,
): ReadonlySet<string> | 'all' | 'other spec' | null {
  if (!(error instanceof SourceError) || sent.pushed.length === 0) return null
  if (error.reason === 'http_412') return sent.ifMatch === undefined ? null : 'other spec'
  if (error.reason === 'http_500') return 'all'
  if (error.reason !== 'unsupported_filter') return null
  const names = new Set(sent.pushed.map(([parameter]) => filterNameOf(parameter)))
  const refused = names.intersection(new Set(error.filters))
  return refused.size === 0 ? null : refused
}

export function namesOf({ criteria }: Pick<ListingQuery, 'criteria'>): ReadonlySet<string> {
  return new Set(criteria.map(({ filter }) => filter.name))
}
