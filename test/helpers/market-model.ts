import type { ListingStatus } from '../../src/domain/listing.ts'
import { identityKey } from '../../src/domain/listing-identity.ts'
import type { Micros } from '../../src/domain/timestamp.ts'
import { decide, type RankedCopy } from '../../src/gateway/authority.ts'
import { type FakeItem, type FakeSource, rowsOf } from './fake-source.ts'
import { listingQuery } from './upstream.ts'

/** What a gateway over these sources has to answer about a listing. */
export type Expected = {
  item: FakeItem
  registry: string
  alsoIn: string[]
  conflict: boolean
  unchecked: string[]
  notIn: string[]
}

export type Asked = { status: ListingStatus | null; matches?: (item: FakeItem) => boolean }

type ModelCopy = RankedCopy & { item: FakeItem; source: FakeSource }

/** The rule, plainly applied to all copies of every listing. Newest first; dates behind `cap` count as it. */
export function expectedOf(
  sources: readonly FakeSource[],
  { status, matches = () => true }: Asked,
  cap: Micros,
): Expected[] {
  const ranked = sources.toSorted((a, b) => a.priority - b.priority)
  const copies = ranked.flatMap((source, rank) => copiesOf(source, rank, status))
  const asked = { status, matches: ({ item }: ModelCopy) => matches(item) }
  const shown = [...Map.groupBy(copies, ({ item }) => item.listingId).values()].flatMap((ofId) =>
    decide(ofId, asked).flatMap(({ decider, isShown }) => (isShown ? [describe(decider, ofId)] : [])),
  )
  const place = ({ position }: FakeItem) => Math.min(position, cap)
  const rowOf = ({ item: { listingId, row = listingId } }: Expected) => row
  const rankOf = ({ registry }: Expected) => ranked.findIndex(({ name }) => name === registry)
  return shown.sort(
    (a, b) => place(b.item) - place(a.item) || rankOf(a) - rankOf(b) || (rowOf(a) < rowOf(b) ? -1 : 1),
  )

  function describe(decider: ModelCopy, ofId: readonly ModelCopy[]): Expected {
    const { item, rank, source } = decider
    const better = ranked.slice(0, rank)
    const decisions = decide(ofId, { status })
    const { otherCopies, isConflict } = decisions.find((one) => one.decider === decider)!
    const isListed = (copy: ModelCopy) => status === null || copy.status === status
    const worse = otherCopies.filter((copy) => copy.rank > rank && isListed(copy))
    const isUnchecked = (one: FakeSource) => {
      const failure = failureOf(one, status)
      return failure === null ? one.coverage !== 'whole' : failure.traits.state !== 'skipped'
    }
    const isWhole = (one: FakeSource) => failureOf(one, status) === null && one.coverage === 'whole'
    const knows = ({ storefrontOf }: FakeSource) =>
      item.publisher !== null && storefrontOf?.(item.publisher) !== undefined
    return {
      item,
      registry: source.name,
      alsoIn: [...new Set(worse.map((copy) => copy.source.name))],
      conflict: isConflict,
      unchecked: better.filter(isUnchecked).map(({ name }) => name),
      notIn: better.filter((one) => isWhole(one) && knows(one)).map(({ name }) => name),
    }
  }
}

/** Why a list of that status has nothing of the source. */
export const failureOf = ({ held }: FakeSource, status: ListingStatus | null) =>
  held.failure(listingQuery({ status }))

/** Of several items of one listing the newest counts. */
function copiesOf(source: FakeSource, rank: number, asked: ListingStatus | null): ModelCopy[] {
  if (failureOf(source, asked) !== null) return []
  const seen = new Set<string>()
  return rowsOf(source)
    .toSorted((a, b) => b.position - a.position)
    .filter((item) => {
      const identity = identityKey(item)
      if (identity === null) return true
      const { size } = seen
      return seen.add(`${item.listingId} ${item.status} ${identity}`).size > size
    })
    .map((item) => {
      const status = item.status ?? 'open'
      return { item, rank, status, isOwn: source.mode === 'local', source }
    })
}
