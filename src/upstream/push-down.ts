import { ALL_OPEN, type ListingQuery, type StandingFilter } from '../domain/query.ts'
import { SourceError } from '../domain/source/source-error.ts'
import type { Criterion } from '../filter-spec/filter.ts'
import { filterNameOf, sendableFilters } from '../filter-spec/parameters.ts'
import type { KnownSpec, UpstreamSpec } from '../filter-spec/upstream-spec.ts'

/** A query as an upstream is asked it: it applies the filters that are pushed down to it. */
export type UpstreamQuery = Pick<
  ListingQuery,
  'status' | 'publisher' | 'criteria' | 'listingId' | 'via' | 'trace'
> & {
  /** Name and raw value of the filters that the upstream applies. The other criteria are evaluated here. */
  pushed: ListingQuery['filters']
  /** Etag of the upstream's filter spec that `pushed` fits, sent as `If-Match`. */
  ifMatch?: string
  /** What items have to match here as well, whatever was sent. */
  only?: readonly Criterion[]
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
  const sent = sendableFilters(query, spec?.filters, sendsDerived).difference(refused)
  // Filters without a value have no effect, and the upstream may not know them.
  const isSent = ([parameter, value]: readonly [string, string]): boolean =>
    value !== '' && sent.has(filterNameOf(parameter))
  const pushed = query.filters.filter(isSent)
  const ifMatch = pushed.length > 0 ? spec?.etag : null
  return { ...query, pushed, ...(ifMatch ? { ifMatch } : {}) }
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

/** What is held of an upstream, as it is asked for it: pages, counts and the stream of changes. */
export type Narrowing = {
  /** The same object until another filter spec, or a refusal, changes it. */
  query: () => UpstreamQuery
  /** Asks so. A filter that is refused then is not sent until the upstream has another filter spec. */
  ask: <T>(work: (query: UpstreamQuery) => Promise<T>, query?: UpstreamQuery) => Promise<T>
}

/** @param via the gateways that its requests pass */
export function narrowBy(
  { criteria, filters }: StandingFilter,
  spec: KnownSpec,
  via: readonly string[],
): Narrowing {
  const make = (refused?: ReadonlySet<string>): { spec: UpstreamSpec | null; query: UpstreamQuery } => {
    const { current } = spec
    if (criteria.length === 0) return { spec: current, query: { ...PLAIN_QUERY, via } }
    const pushed = pushDown({ ...ALL_OPEN, criteria, filters, via }, current, { refused })
    return { spec: current, query: { ...pushed, only: criteria } }
  }
  let made = make()
  const latest = (): UpstreamQuery => {
    if (criteria.length > 0 && made.spec !== spec.current) made = make()
    return made.query
  }
  return {
    query: latest,
    ask: async (work, query = latest()) => {
      try {
        return await work(query)
      } catch (error) {
        const rejection = rejectionOf(query, error)
        if (rejection === 'other spec') void spec.refresh()
        else if (rejection !== null) made = make(namesOf({ criteria }))
        throw error
      }
    },
  }
}

export function namesOf({ criteria }: Pick<ListingQuery, 'criteria'>): ReadonlySet<string> {
  return new Set(criteria.map(({ filter }) => filter.name))
}
