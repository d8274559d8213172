import type { Identity } from '../domain/merge.ts'
import type { Item } from '../domain/page.ts'
import type { Mark } from './history.ts'

/** A Registry that carries a listing, as readers know it, and its rank. */
export type Carrier = { rank: number; name: string }

/** One listing, by what is known of its copies so far. */
export type Known = {
  publisher: string | null
  readonly storefronts: Set<string>
  isShown: boolean
  /** Where copies stood that were passed by for a better one to come. */
  readonly carriers: Carrier[]
  /** Copies to come that it was passed by for and of which no publisher is known: they are no other listing's. */
  readonly claims: string[]
  /** Whether offers or escrows of those and of the better one are not equal. */
  differs: boolean
}

/**
 * The listings of one `listing_id`, told apart as their copies come: a copy belongs to the first listing that it can
 * belong to (`isSameListing`), and tells who published it where nobody knew. So no copy of which no publisher is known
 * makes one listing of two publishers', and none that one listing waits for is taken by another.
 */
export class Namesakes {
  readonly listings: Known[] = []

  constructor(marks: readonly Mark[]) {
    for (const mark of marks) {
      const known = this.add(mark)
      known.isShown ||= mark.isShown
      if (mark.carrier !== undefined) known.carriers.push(mark.carrier)
      if (mark.claims !== undefined) known.claims.push(...mark.claims)
      known.differs ||= mark.differs === true
    }
  }

  /** The listing that a copy belongs to, by which it is known from now on. `claim`: what it can be claimed by. */
  add(copy: Identity, claim: string | null = null): Known {
    const { publisher, storefrontUrl } = copy
    const found = this.#find(copy, claim)
    const known = found ?? {
      publisher,
      storefronts: new Set(),
      isShown: false,
      carriers: [],
      claims: [],
      differs: false,
    }
    if (found === undefined) this.listings.push(known)
    known.publisher ??= publisher
    if (storefrontUrl !== null) known.storefronts.add(storefrontUrl)
    return known
  }

  /** Whether a copy tells more than is known of the listing that it belongs to. */
  isNews(copy: Identity, claim: string): boolean {
    const { publisher, storefrontUrl } = copy
    const known = this.#find(copy, claim)
    if (known === undefined || (known.publisher === null && publisher !== null)) return true
    return storefrontUrl !== null && !known.storefronts.has(storefrontUrl)
  }

  /** By who published it, if anybody knows, or else by who waits for it, or by where she trades: one not shown comes first. */
  #find({ publisher, storefrontUrl }: Identity, claim: string | null): Known | undefined {
    const certain = this.listings.find((known) =>
      publisher === null ? claim !== null && known.claims.includes(claim) : known.publisher === publisher,
    )
    if (certain !== undefined || storefrontUrl === null) return certain
    const possible = this.listings.filter(
      (known) => (known.publisher === null || publisher === null) && known.storefronts.has(storefrontUrl),
    )
    return possible.find(({ isShown }) => !isShown) ?? possible[0]
  }
}

/** What a copy can be claimed by; empty where who published it is known. */
export const claimOf = ({ publisher, createdAt }: Item, rank: number): string =>
  publisher === null ? `${rank} ${createdAt}` : ''

/** Those of some copies that have to be claimed. */
export const claimsOf = (copies: readonly { item: Item; rank: number }[]): string[] =>
  copies.map(({ item, rank }) => claimOf(item, rank)).filter((claim) => claim !== '')
