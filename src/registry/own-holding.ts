import type { Clock } from '../domain/clock.ts'
import { activeIdentities } from '../domain/publisher.ts'
import type { Holding } from '../domain/source/holding.ts'
import type { SourceStatus } from '../domain/source/source-status.ts'
import { matchesAll } from '../filter-spec/evaluate.ts'
import type { Criterion, FilterSpec } from '../filter-spec/filter.ts'
import type { Replica } from './replica.ts'

/** The own Registry: listings of every status, and what they say is of now. */
export function ownHolding(name: string, replica: Replica, clock: Clock): Holding {
  const answer = () => {
    const { projection } = replica
    return {
      source: projection.source,
      asOf: clock.monotonic(),
      stale: false,
      isCurrent: () => replica.projection === projection,
    }
  }
  return {
    name,
    visibility: 'public',
    priority: 0,
    isOwn: true,
    isGateway: false,
    answer,
    rows: () => replica.projection.source,
    coverage: () => 'whole',
    prepare: () => null,
    find: async ({ listingId }) => {
      const { source: _, ...about } = answer()
      const copy = replica.projection.listing(listingId)
      return { ...about, copies: copy === undefined ? [] : [copy] }
    },
    sellersWith: (criteria) => sellersWith(replica, criteria, clock),
    follow: replica.changes.listen,
  }
}

/** Filters of `publisher_principals` test publishers, since rows lack the member. */
function sellersWith(
  { projection }: Replica,
  criteria: readonly Criterion[],
  clock: Clock,
): ReadonlySet<number> {
  const now = clock.now() * 1000
  const ids = projection.publishers
    .values()
    .filter((one) =>
      matchesAll(criteria, { publisher_principals: { identities: activeIdentities(one, now) } }),
    )
  return new Set(ids.map((one) => one.publisherId))
}

export const localStatus =
  (name: string, spec: FilterSpec, replica: Replica): (() => SourceStatus) =>
  () => ({
    name,
    mode: 'local',
    visibility: 'public',
    state: 'loaded',
    ageSeconds: 0,
    lastError: null,
    schemaId: spec.schema?.id ?? null,
    filters: [...spec.filters.keys()],
    listings: replica.projection.index.countOf(replica.projection.source, 'open'),
  })
