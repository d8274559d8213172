import type { ListingStatus } from '../domain/listing.ts'
import { identityKey, type ListingIdentity } from '../domain/listing-identity.ts'
import { decide, type RankedCopy } from '../listing-index/authority.ts'

/** The decisions about all copies of one `listing_id`, made once: any number of copies may have it. */
export class CopiesOfId<C extends RankedCopy> {
  readonly #status: ListingStatus | null
  /** Per listing of a known identity: of each source the first copy, by rank. */
  readonly #byIdentity = new Map<string, readonly C[]>()
  /** Ranks of copies without an identity, each a listing of its own. */
  readonly #loose = new Set<number>()
  /** Listings that the answer could show. */
  #listed = 0

  /** @param isInView whether a listing exists for the reader, by its best copy */
  constructor(copies: readonly C[], status: ListingStatus | null, isInView: (copy: C) => boolean) {
    this.#status = status
    for (const { decider, otherCopies, isShown } of decide(copies, { status, matches: isInView })) {
      if (isShown) this.#listed++
      const identity = identityKey(decider.item)
      if (identity === null) this.#loose.add(decider.rank)
      else this.#byIdentity.set(identity, firstOfEach([decider, ...otherCopies]))
    }
  }

  deciderOf(item: ListingIdentity): C | undefined {
    return this.#of(item)[0]
  }

  /** Copies of the listing in worse sources, of the asked status. */
  openOthersOf(item: ListingIdentity, rank: number): readonly C[] {
    const copies = this.#of(item)
    if (copies.length === 0 || (copies.length === 1 && copies[0]!.rank === rank)) return NONE
    return copies.filter((copy) => copy.rank > rank && this.#isListed(copy))
  }

  /** Whether there is another listing of the id. */
  hasOther(item: ListingIdentity, rank: number): boolean {
    const decider = this.deciderOf(item)
    const isAmong =
      identityKey(item) === null ? this.#loose.has(rank) : decider !== undefined && this.#isListed(decider)
    return this.#listed > (isAmong ? 1 : 0)
  }

  #of(item: ListingIdentity): readonly C[] {
    const identity = identityKey(item)
    return (identity === null ? undefined : this.#byIdentity.get(identity)) ?? NONE
  }

  #isListed({ status }: C): boolean {
    return this.#status === null || status === this.#status
  }
}

const NONE: readonly never[] = []

function firstOfEach<C extends RankedCopy>(byRank: readonly C[]): C[] {
  return byRank.filter(({ rank }, n) => byRank[n - 1]?.rank !== rank)
}
