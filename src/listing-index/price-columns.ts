import type { PriceKey, PricePer } from '../domain/price/price-key.ts'
import type { PriceLimit } from '../domain/query.ts'
import { type Bitset, clearBit } from './bitset.ts'
import { countBelow, Posting } from './column.ts'
import { isOfToken } from './row-prices.ts'

/** The prices of a segment. Plain data that threads can exchange. */
export type PriceData = {
  /** In which rows have a price; a price in another basis is left out (`MAX_BASES`). */
  bases: readonly string[]
  /** GPUs per slot; 0 where the count is invalid. */
  gpus: Uint16Array
  /** Per slot, its first price; one more at the end. */
  starts: Uint32Array
  /** Per price, its basis. */
  basisOf: Uint16Array
} & Record<PricePer, SortedPrices>

export type SortedPrices = {
  /** Per price, the number of its key in its column. */
  ranks: Uint16Array
  /** Per basis. */
  columns: readonly PriceColumn[]
}

/** The prices of one basis in order. */
export type PriceColumn = {
  /** Ascending and different; a `Float64Array` unless one is a bigint. */
  keys: ArrayLike<PriceKey>
  /** Per key, the end of its slots. */
  ends: Uint32Array
  /** By key, then newest first. */
  slots: Uint16Array
}

export type AskedPrices = {
  per: PricePer
  /** The group of each basis of a segment; -1 for none. */
  numbers: Int16Array
  /** Higher prices do not compare. */
  max: PriceKey
}

export class PriceColumns {
  readonly data: PriceData

  constructor(data: PriceData) {
    this.data = data
  }

  /** Slots of rows that a limit lets pass; a row may be in several. */
  within({ tokens, per, max }: PriceLimit): Posting[] {
    return this.data.bases.flatMap((basis, n) => {
      if (!isOfToken(basis, tokens)) return []
      const { keys, ends, slots } = this.data[per].columns[n]!
      const end = endBelow(ends, countBelow(keys, max, true))
      return end === 0 ? [] : [new Posting(end, null, slots.subarray(0, end))]
    })
  }

  groupNumbers(groupOf: ReadonlyMap<string, number>): Int16Array {
    return Int16Array.from(this.data.bases, (basis) => groupOf.get(basis) ?? -1)
  }

  /** Removes rows with a price in some group. */
  clearPriced(target: Bitset, { per, numbers, max }: AskedPrices): void {
    for (const [n, { keys, ends, slots }] of this.data[per].columns.entries()) {
      const end = numbers[n] === -1 ? 0 : endBelow(ends, countBelow(keys, max, true))
      for (let at = 0; at < end; at++) clearBit(target, slots[at]!)
    }
  }

  /** Offers per basis. */
  countOffers(matches: Bitset, count: number): Uint32Array {
    const { bases, starts, basisOf, offer } = this.data
    const counts = new Uint32Array(bases.length)
    if (count * FEW < basisOf.length)
      forEachBit(matches, (slot) => {
        for (let at = starts[slot]!; at < starts[slot + 1]!; at++) counts[basisOf[at]!]!++
      })
    else
      for (const [n, { slots }] of offer.columns.entries()) {
        let offers = 0
        for (let at = 0; at < slots.length; at++) {
          const slot = slots[at]!
          offers += (matches[slot >> 5]! >>> (slot & 31)) & 1
        }
        counts[n] = offers
      }
    return counts
  }

  /**
   * Adds the offers of each key to `counts`; `places` says where, by basis and place in its column. Returns the GPUs of
   * the offers by basis.
   */
  addCounts(
    { slots: matches, count }: { slots: Bitset; count: number },
    per: PricePer,
    places: readonly Uint32Array[],
    counts: Uint32Array,
  ): Float64Array {
    const { bases, basisOf } = this.data
    const gpus = new Float64Array(bases.length)
    if (count * FEW < basisOf.length) this.#addRows(matches, per, places, counts, gpus)
    else for (let n = 0; n < bases.length; n++) gpus[n] = this.#addColumn(matches, per, n, places[n]!, counts)
    return gpus
  }

  #addRows(
    matches: Bitset,
    per: PricePer,
    places: readonly Uint32Array[],
    counts: Uint32Array,
    gpus: Float64Array,
  ): void {
    const { starts, basisOf, gpus: gpusOf } = this.data
    const { ranks, columns } = this.data[per]
    forEachBit(matches, (slot) => {
      const own = gpusOf[slot]!
      if (own === 0 && per === 'gpu') return
      for (let at = starts[slot]!; at < starts[slot + 1]!; at++) {
        const basis = basisOf[at]!
        counts[places[basis]![endBelow(columns[basis]!.ends, ranks[at]!)]!]!++
        gpus[basis]! += own
      }
    })
  }

  #addColumn(
    matches: Bitset,
    per: PricePer,
    basis: number,
    places: Uint32Array,
    counts: Uint32Array,
  ): number {
    const { slots } = this.data[per].columns[basis]!
    const gpusOf = this.data.gpus
    const size = slots.length
    let gpus = 0
    // Without branches: which rows match is hard to predict.
    for (let at = 0; at < size; at++) {
      const slot = slots[at]!
      const one = (matches[slot >> 5]! >>> (slot & 31)) & 1
      const place = places[at]!
      counts[place] = counts[place]! + one
      gpus += gpusOf[slot]! & -one
    }
    return gpus
  }

  /** Whether the row has no lower price in the group of this basis, and none in an earlier group. */
  isBest(slot: number, basis: number, key: PriceKey, { per, numbers, max }: AskedPrices): boolean {
    const { starts, basisOf } = this.data
    const { ranks, columns } = this.data[per]
    const end = starts[slot + 1]!
    for (let at = starts[slot]!; at < end; at++) {
      const other = basisOf[at]!
      if (other === basis || numbers[other]! === -1 || numbers[other]! > numbers[basis]!) continue
      const otherKey = columns[other]!.keys[ranks[at]!]!
      if (otherKey > max) continue
      if (numbers[other]! < numbers[basis]!) return false
      if (otherKey < key || (otherKey === key && other < basis)) return false
    }
    return true
  }

  /** The row's lowest key in the group, if that is its first group; else `null`. */
  keyIn(slot: number, group: number, { per, numbers, max }: AskedPrices): PriceKey | null {
    const { starts, basisOf, gpus } = this.data
    const { ranks, columns } = this.data[per]
    if (per === 'gpu' && gpus[slot] === 0) return null
    let lowest: PriceKey | null = null
    const end = starts[slot + 1]!
    for (let at = starts[slot]!; at < end; at++) {
      const own = numbers[basisOf[at]!]!
      if (own === -1 || own > group) continue
      const key = columns[basisOf[at]!]!.keys[ranks[at]!]!
      if (key > max) continue
      if (own < group) return null
      if (lowest === null || key < lowest) lowest = key
    }
    return lowest
  }
}

/** So many prices a match make it cheaper to read columns. */
const FEW = 4

export const endBelow = (ends: Uint32Array, keys: number): number => (keys === 0 ? 0 : ends[keys - 1]!)

export function forEachBit(set: Bitset, visit: (slot: number) => void): void {
  for (let n = 0; n < set.length; n++)
    for (let word = set[n]!; word !== 0; word &= word - 1) visit(n * 32 + 31 - Math.clz32(word & -word))
}
