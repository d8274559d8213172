import type { ListingStatus } from '../../src/domain/listing.ts'
import { identityKey } from '../../src/domain/listing-identity.ts'
import type { Micros } from '../../src/domain/timestamp.ts'
import { decide, type RankedCopy } from '../../src/listing-index/authority.ts'
import type { FakeItem, FakeSource } from './fake-source.ts'

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
  const copies = ranked.flatMap((source, rank) => copiesOf(source, rank))
  const asked = { status, matches: ({ item }: ModelCopy) => matches(item) }
  const shown = [...Map.groupBy(copies, ({ item }) => item.listingId).values()].flatMap((ofId) =>
    decide(ofId, asked).flatMap(({ decider, isShown }) => (isShown ? [describe(decider, ofId)] : [])),
  )
  const place = ({ position }: FakeItem) => Math.min(position, cap)
  const rankOf = ({ registry }: Expected) => ranked.findIndex(({ name }) => name === registry)
  return shown.sort(
    (a, b) =>
      place(b.item) - place(a.item) ||
      rankOf(a) - rankOf(b) ||
      (a.item.listingId < b.item.listingId ? -1 : a.item.listingId > b.item.listingId ? 1 : 0) ||
      ranked[rankOf(a)]!.items.indexOf(a.item) - ranked[rankOf(b)]!.items.indexOf(b.item),
  )

  function describe(decider: ModelCopy, ofId: readonly ModelCopy[]): Expected {
    const { item, rank, source } = decider
    const better = ranked.slice(0, rank)
    // Of a large source only what was looked up is known.
    const known = ofId.filter((copy) => copy === decider || copy.source.kind !== 'large')
    const decisions = decide(known, { status })
    const { otherCopies, isConflict } = decisions.find((one) => one.decider === decider)!
    const isListed = (copy: ModelCopy) => status === null || copy.status === status
    const worse = otherCopies.filter((copy) => copy.rank > rank && isListed(copy))
    const isUnchecked = ({ failure, kind, isLookedUp }: FakeSource) =>
      failure !== null || (kind === 'large' && !isLookedUp)
    const isWhole = ({ failure, kind }: FakeSource) => failure === null && kind !== 'large'
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

/** Of several items of one listing the newest counts. */
function copiesOf(source: FakeSource, rank: number): ModelCopy[] {
  if (source.failure !== null) return []
  const seen = new Set<string>()
  return source.items
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
