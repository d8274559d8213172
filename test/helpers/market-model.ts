import type { ListingStatus } from '../../src/domain/listing.ts'
import type { Micros } from '../../src/domain/timestamp.ts'
import { decide, type RankedCopy } from '../../src/listing-index/authority.ts'
import { type FakeItem, type FakeSource, heldItems, keyIn, refusalOf } from './fake-source.ts'

/** What a gateway over these sources has to answer about a listing. */
export type Expected = {
  item: FakeItem
  registry: string
  alsoIn: string[]
  conflict: boolean
  unchecked: string[]
  notIn: string[]
  disputed: string[]
}

export type Asked = { status: ListingStatus | null; matches?: (item: FakeItem) => boolean }

type ModelCopy = RankedCopy & { item: FakeItem; source: FakeSource }

/** The rule, plainly applied to all copies of every listing. Newest first; dates behind `cap` come last. */
export function expectedOf(
  sources: readonly FakeSource[],
  { status, matches = () => true }: Asked,
  cap: Micros,
): Expected[] {
  const ranked = sources.toSorted((a, b) => a.priority - b.priority)
  const copies = ranked.flatMap((source, rank) => copiesOf(source, rank, status))
  const asked = { status, matches: ({ item }: ModelCopy) => matches(item) }
  const shown = [...Map.groupBy(copies, ({ item }) => item.listingId).values()].flatMap((ofId) =>
    decide(ofId, asked).flatMap(({ decider, isShown }) => (isShown ? [{ decider, ofId }] : [])),
  )
  const isLate = ({ decider }: { decider: ModelCopy }) => Number(decider.item.position > cap)
  const keyOf = ({ decider: { source, item } }: { decider: ModelCopy }) =>
    `${keyIn(source, item)}\n\n${source.name}`
  return shown
    .sort(
      (a, b) =>
        isLate(a) - isLate(b) ||
        b.decider.item.position - a.decider.item.position ||
        (keyOf(a) < keyOf(b) ? -1 : 1),
    )
    .map(({ decider, ofId }) => describe(decider, ofId))

  function describe(decider: ModelCopy, ofId: readonly ModelCopy[]): Expected {
    const { item, rank, source } = decider
    const better = ranked.slice(0, rank)
    const { otherCopies, isConflict } = decide(ofId, { status }).find((one) => one.decider === decider)!
    const isListed = (copy: ModelCopy) => status === null || copy.status === status
    const worse = otherCopies.filter((copy) => copy.rank > rank && isListed(copy))
    const isUnchecked = (one: FakeSource) => {
      const refusal = refusalOf(one, status)
      return refusal === null ? one.coverage !== 'whole' : refusal.traits.state !== 'skipped'
    }
    const ofSeller = ({ items, isOwn }: FakeSource) =>
      items.filter((one) => (isOwn || (one.status ?? 'open') === 'open') && one.publisher === item.publisher)
    const knowing = better.filter(
      (one) => item.publisher !== null && refusalOf(one, status) === null && ofSeller(one).length > 0,
    )
    const isElsewhere = (one: FakeSource) =>
      ofSeller(one).every(({ storefrontUrl }) => storefrontUrl !== item.storefrontUrl)
    return {
      item,
      registry: source.name,
      alsoIn: [...new Set(worse.map((copy) => copy.source.name))],
      conflict: isConflict,
      unchecked: better.filter(isUnchecked).map(({ name }) => name),
      notIn: knowing
        .filter(({ coverage, isGateway }) => coverage === 'whole' && !isGateway)
        .map(({ name }) => name),
      disputed: knowing.filter(isElsewhere).map(({ name }) => name),
    }
  }
}

function copiesOf(source: FakeSource, rank: number, asked: ListingStatus | null): ModelCopy[] {
  if (refusalOf(source, asked) !== null) return []
  return heldItems(source).map((item) => {
    const status = item.status ?? 'open'
    return { item, rank, status, isOwn: source.isOwn, source }
  })
}
