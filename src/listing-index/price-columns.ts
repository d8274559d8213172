import type { PriceKey, PricePer } from '../domain/price/price-key.ts'
import type { PriceLimit } from '../domain/query.ts'
import { type Bitset, clearBit, countIn, forEachBit, setBit } from './bitset.ts'

/** The prices of a segment. Plain data that threads can exchange. */
export type PriceData = {
  /** Sorted. */
  bases: readonly string[]
  /** GPUs per slot; 0 where the count is invalid. */
  gpus: Uint16Array
  /** Per slot, its first price; one more at the end. */
  starts: Uint32Array
  /** Per price, its basis. */
  basisOf: Uint32Array
} & Record<PricePer, SortedPrices>

/** Flat, since sellers choose how many bases there are. */
export type SortedPrices = {
  /** Per price, its place in the order; -1 for none. */
  places: Int32Array
  /** By basis and key, then newest first. A negative number -n is the nth of `large`. */
  keys: Float64Array
  large: readonly PriceKey[]
  slots: Uint16Array
  /** Per basis, the end of its prices. */
  ends: Uint32Array
}

export type AskedPrices = {
  per: PricePer
  /** The group of some bases of a segment. */
  groupOf: ReadonlyMap<number, number>
  /** Higher prices do not compare. */
  max: PriceKey
}

export class PriceColumns {
  readonly data: PriceData

  constructor(data: PriceData) {
    this.data = data
  }

  /** -1 for none. */
  numberOf(basis: string): number {
    const n = this.#firstFrom(basis)
    return this.data.bases[n] === basis ? n : -1
  }

  keyAt(per: PricePer, place: number): PriceKey {
    const { keys, large } = this.data[per]
    const key = keys[place]!
    return key >= 0 ? key : large[-key - 1]!
  }

  /** Ascending. */
  keysOf(per: PricePer, basis: number): ArrayLike<PriceKey> {
    const start = this.startOf(per, basis)
    const keys = this.data[per].keys.subarray(start, this.data[per].ends[basis])
    return keys.at(-1)! < 0 ? Array.from(keys, (_, n) => this.keyAt(per, start + n)) : keys
  }

  startOf(per: PricePer, basis: number): number {
    return basis === 0 ? 0 : this.data[per].ends[basis - 1]!
  }

  /** Where keys of a basis end that are less than `key`, or equal if `orEqual`. */
  endBelow(per: PricePer, basis: number, key: PriceKey, orEqual: boolean): number {
    let low = this.startOf(per, basis)
    let high = this.data[per].ends[basis]!
    while (low < high) {
      const middle = (low + high) >> 1
      const other = this.keyAt(per, middle)
      if (other < key || (orEqual && other <= key)) low = middle + 1
      else high = middle
    }
    return low
  }

  /** Adds the rows that a limit lets pass. */
  within({ tokens, per, max }: PriceLimit, target: Bitset): Bitset {
    for (const n of this.basesOf(tokens))
      for (const slot of this.#slotsWithin(per, n, max)) setBit(target, slot)
    return target
  }

  *basesOf(tokens: PriceLimit['tokens']): Generator<number> {
    const { bases } = this.data
    for (const { chain, address } of tokens) {
      const prefix = `${chain}\n${address}\n`
      for (let n = this.#firstFrom(prefix); bases[n]?.startsWith(prefix); n++) yield n
    }
  }

  /** Removes rows with a price in some group. */
  clearPriced(target: Bitset, { per, groupOf, max }: AskedPrices): void {
    for (const basis of groupOf.keys())
      for (const slot of this.#slotsWithin(per, basis, max)) clearBit(target, slot)
  }

  /** Of all rows, per basis. */
  countPrices(per: PricePer): Uint32Array {
    return this.data[per].ends.map((end, n) => end - this.startOf(per, n))
  }

  /** Offers per basis. */
  countOffers(matches: Bitset, count: number): Uint32Array {
    const { bases, starts, basisOf, offer } = this.data
    const counts = new Uint32Array(bases.length)
    if (count * FEW < basisOf.length)
      forEachBit(matches, (slot) => {
        for (let at = starts[slot]!; at < starts[slot + 1]!; at++) counts[basisOf[at]!]!++
      })
    else {
      const { slots, ends } = offer
      for (let n = 0; n < bases.length; n++)
        counts[n] = countIn(matches, slots, this.startOf('offer', n), ends[n]!)
    }
    return counts
  }

  /** Adds the offers of each key to `counts`; `places` says where. Returns their GPUs. */
  addCounts(matches: Bitset, per: PricePer, basis: number, places: Uint32Array, counts: Uint32Array): number {
    const { slots, ends } = this.data[per]
    const gpusOf = this.data.gpus
    const end = ends[basis]!
    let gpus = 0
    // Without branches: which rows match is hard to predict.
    for (let at = this.startOf(per, basis); at < end; at++) {
      const slot = slots[at]!
      const one = (matches[slot >> 5]! >>> (slot & 31)) & 1
      const place = places[at]!
      counts[place] = counts[place]! + one
      gpus += gpusOf[slot]! & -one
    }
    return gpus
  }

  /** Whether the row has no lower price in the group of this basis, and none in an earlier group. */
  isBest(slot: number, basis: number, key: PriceKey, { per, groupOf, max }: AskedPrices): boolean {
    const { starts, basisOf } = this.data
    const { places } = this.data[per]
    const end = starts[slot + 1]!
    if (end - starts[slot]! === 1) return true
    const group = groupOf.get(basis)!
    for (let at = starts[slot]!; at < end; at++) {
      const other = basisOf[at]!
      const otherGroup = groupOf.get(other)
      if (other === basis || otherGroup === undefined || otherGroup > group) continue
      const otherKey = this.keyAt(per, places[at]!)
      if (otherKey > max) continue
      if (otherGroup < group || otherKey < key || (otherKey === key && other < basis)) return false
    }
    return true
  }

  #slotsWithin(per: PricePer, basis: number, max: PriceKey): Uint16Array {
    return this.data[per].slots.subarray(this.startOf(per, basis), this.endBelow(per, basis, max, true))
  }

  #firstFrom(text: string): number {
    const { bases } = this.data
    let low = 0
    let high = bases.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (bases[middle]! < text) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** So many prices a match make it cheaper to read columns. */
const FEW = 4
