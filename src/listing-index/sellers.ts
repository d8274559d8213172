import { identityKey, type ListingIdentity } from '../domain/listing-identity.ts'

export type Seller = Readonly<Pick<ListingIdentity, 'publisher' | 'aliases' | 'storefrontUrl'>>

/** `person`: of `personOf`, which a count asks for thousands of times. `rows`: how many, by lane. */
type Entry = { seller: Seller; person: string; name: string | null; rows: Map<number, number> }

/** Sellers without rows. */
const MAX_IDLE = 1000
const UNKNOWN: Seller = { publisher: null, storefrontUrl: null }

/**
 * The sellers of all rows, by number. Publishers of the own Registry keep the ids of its store, which are positive; others
 * have negative numbers, as long as they have rows. A seller is an address at a storefront.
 */
export class Sellers {
  readonly #entries = new Map<number, Entry>()
  readonly #numbers = new Map<string, number>()
  readonly #byAddress = new Map<string, Set<number>>()
  /** Without an address, by lane. */
  readonly #unknown = new Map<number, Set<number>>()
  /** Without rows, the latest one last. */
  readonly #idle = new Set<number>()
  #last = 0

  /**
   * The number of an upstream's seller.
   * @param unknownAs what keeps sellers without a known address apart, such as the source and its `publisher_id`
   */
  numberOf({ publisher, aliases, storefrontUrl }: Seller, unknownAs: string): number {
    const seller = { publisher, aliases, storefrontUrl }
    const name = `${textOf(seller)}${publisher === null ? unknownAs : ''}`
    const known = this.#numbers.get(name)
    if (known !== undefined) {
      this.#idle.delete(known)
      return known
    }
    const number = --this.#last
    this.#numbers.set(name, number)
    this.#set(number, seller, { name, rows: new Map() })
    return number
  }

  of(number: number): Seller {
    return this.#entries.get(number)?.seller ?? UNKNOWN
  }

  /** Whether that is what is known of the seller. */
  isKnown(number: number, seller: Seller): boolean {
    return textOf(this.of(number)) === textOf(seller)
  }

  /** Numbers of sellers that have, or had, that address. */
  numbersOf(address: string): ReadonlySet<number> {
    return this.#byAddress.get(address) ?? NO_NUMBERS
  }

  /** Each with the lanes of its rows. */
  *all(): Generator<readonly [number: number, seller: Seller, lanes: readonly number[]]> {
    for (const [number, { seller, rows }] of this.#entries) yield [number, seller, [...rows.keys()]]
  }

  /** Those with rows of the lane whose address is not known. */
  *unknownIn(lane: number): Generator<Seller> {
    for (const number of this.#unknown.get(lane) ?? []) yield this.of(number)
  }

  /** Equal for sellers that are one, as of `identityKey`. */
  personOf(number: number): string {
    return this.#entries.get(number)?.person ?? `${number}`
  }

  /** Of its rows. */
  lanesOf(number: number): Iterable<number> {
    return this.#entries.get(number)?.rows.keys() ?? []
  }

  /** What is known of the seller from now on. */
  learn(number: number, seller: Seller): void {
    const before = this.#entries.get(number)
    if (before !== undefined) this.#forgetAddress(number, before.seller)
    this.#set(number, seller, before)
  }

  /** Counts rows. An upstream's seller without rows is forgotten after many others have lost theirs. */
  count(number: number, lane: number, change: 1 | -1): void {
    const entry = this.#entries.get(number) ?? this.#set(number, UNKNOWN)
    const count = (entry.rows.get(lane) ?? 0) + change
    if (count > 0) entry.rows.set(lane, count)
    else entry.rows.delete(lane)
    if (entry.seller.publisher === null) this.#noteUnknown(number, lane, count > 0)
    if (number < 0 && entry.rows.size === 0) this.#setIdle(number)
  }

  /** A row that is replaced has a seller without rows for a moment, as one that is still to come. */
  #setIdle(number: number): void {
    this.#idle.add(number)
    if (this.#idle.size <= MAX_IDLE) return
    const [first] = this.#idle
    this.#idle.delete(first!)
    if (this.#entries.get(first!)?.rows.size === 0) this.#forget(first!)
  }

  #forget(number: number): void {
    const { seller, name } = this.#entries.get(number)!
    this.#entries.delete(number)
    this.#forgetAddress(number, seller)
    if (name !== null) this.#numbers.delete(name)
  }

  #set(number: number, seller: Seller, { name, rows }: Pick<Entry, 'name' | 'rows'> = newEntry()): Entry {
    const entry = { seller, person: identityKey(seller) ?? `${number}`, name, rows }
    this.#entries.set(number, entry)
    if (seller.publisher === null) for (const lane of rows.keys()) this.#noteUnknown(number, lane, true)
    for (const address of addressesOf(seller))
      this.#byAddress.set(address, (this.#byAddress.get(address) ?? new Set()).add(number))
    return entry
  }

  #forgetAddress(number: number, seller: Seller): void {
    if (seller.publisher === null)
      for (const lane of this.lanesOf(number)) this.#noteUnknown(number, lane, false)
    for (const address of addressesOf(seller)) {
      const numbers = this.#byAddress.get(address)
      numbers?.delete(number)
      if (numbers?.size === 0) this.#byAddress.delete(address)
    }
  }

  #noteUnknown(number: number, lane: number, hasRows: boolean): void {
    const numbers = this.#unknown.get(lane) ?? new Set()
    if (hasRows) this.#unknown.set(lane, numbers.add(number))
    else if (numbers.delete(number) && numbers.size === 0) this.#unknown.delete(lane)
  }
}

const newEntry = () => ({ name: null, rows: new Map<number, number>() })

const textOf = ({ publisher, aliases = [], storefrontUrl }: Seller): string =>
  JSON.stringify([publisher, storefrontUrl, ...aliases])

const addressesOf = ({ publisher, aliases = [] }: Seller): readonly string[] =>
  publisher === null ? [] : [publisher, ...aliases]

const NO_NUMBERS: ReadonlySet<number> = new Set()
