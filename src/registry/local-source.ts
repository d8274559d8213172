import type { Clock } from '../domain/clock.ts'
import { activeIdentities } from '../domain/publisher.ts'
import type { ListingQuery } from '../domain/query.ts'
import type { Held } from '../domain/source/held.ts'
import type { Item, Source } from '../domain/source/reading.ts'
import type { Select } from '../domain/source/selection.ts'
import type { SourceStatus } from '../domain/source/source-status.ts'
import { matchesAll } from '../filter-spec/evaluate.ts'
import type { Criterion, Filter, FilterSpec } from '../filter-spec/filter.ts'
import { type IndexedListings, IndexSource } from '../listing-index/index-source.ts'
import type { Projection } from './projection.ts'
import type { Replica } from './replica.ts'

export function localSource(
  { name, clock }: { name: string; clock: Clock },
  replica: Replica,
  filters: Iterable<Filter>,
): { read: Source; select: Select; held: Held } {
  const index = new IndexSource(name, filters)
  /** Of the moment when a read begins: a scan takes several turns of the event loop. */
  const info = () => ({ asOf: clock.monotonic(), stale: false, isCurrent: unchanged(replica) })
  return {
    read: async (query, range) => {
      const about = info()
      return { ...(await index.read(indexed(replica.projection, clock), query, range)), ...about }
    },
    select: async (query) => {
      const about = info()
      return { ...(await index.select(indexed(replica.projection, clock), query)), ...about }
    },
    held: {
      failure: () => null,
      find: (listingId) => replica.projection.copiesOf(listingId),
      ids: () => replica.projection.listings.ids,
      version: () => `${replica.projection.id}.${replica.projection.listings.version}`,
      coverage: () => 'whole',
      prepare: () => null,
      onChange: replica.changes.listen,
      follow: replica.changes.follow,
    },
  }
}

/** A function of its own: a closure in the source would keep the query alive. */
function unchanged(replica: Replica): () => boolean {
  const { projection } = replica
  const { version } = projection.listings
  return () => replica.projection === projection && projection.listings.version === version
}

/** `undefined` for an unknown publisher. */
function publisherIdOf(projection: Projection, publisher: string | null): number | null | undefined {
  return publisher === null ? null : projection.publisherNamed(publisher)?.publisherId
}

/** `undefined` for an unknown publisher. Filters of `publisher_principals` test publishers, since rows of the index lack the member. */
function conditionsOf(projection: Projection, query: ListingQuery, clock: Clock) {
  const publisherId = publisherIdOf(projection, query.publisher)
  if (publisherId === undefined) return undefined
  const tests = query.hasPrincipals ? query.criteria.filter(isOfPrincipals) : []
  if (tests.length === 0) return { ...query, publisherId }
  const criteria = query.criteria.filter((one) => !tests.includes(one))
  const now = clock.now() * 1000
  const ids = projection.publishers
    .values()
    .filter((one) => publisherId === null || one.publisherId === publisherId)
    .filter((one) => matchesAll(tests, { publisher_principals: { identities: activeIdentities(one, now) } }))
  return { ...query, criteria, publisherId: new Set(ids.map((one) => one.publisherId)) }
}

function isOfPrincipals({ filter: { compiled } }: Criterion): boolean {
  const [first] = compiled
  return first?.kind === 'member' && first.name === 'publisher_principals'
}

function indexed(projection: Projection, clock: Clock): IndexedListings {
  return {
    page: (query, { after, limit, offset }) => {
      const conditions = conditionsOf(projection, query, clock)
      if (conditions === undefined) return { items: NONE, total: 0 }
      const { rows, total, hidden } = projection.listings.query({ ...conditions, after, limit, offset })
      return { items: rows.map((row) => projection.itemOf(row)), total, hidden }
    },
    select: (query) => {
      const conditions = conditionsOf(projection, query, clock)
      if (conditions === undefined) return null
      const matches = projection.listings.matches(conditions)
      const of = (id: number) => projection.identityOf(id)
      return { matches, itemOf: (row) => projection.itemOf(row), publisherOf: of }
    },
    find: (query, listingId) => find(projection, query, listingId),
  }
}

const NONE: readonly Item[] = []

function find(projection: Projection, query: ListingQuery, listingId: string): readonly Item[] {
  const row = projection.listings.get(listingId)
  if (row === undefined || (query.status !== null && row.status !== query.status)) return NONE
  const item = projection.itemOf(row)
  const isOf = query.publisher === null || row.publisherId === publisherIdOf(projection, query.publisher)
  return isOf ? [item] : NONE
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
    listings: replica.projection.listings.count('open'),
  })
