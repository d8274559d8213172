import { parseBasis } from '../domain/price/payment-option.ts'
import { type PriceKey, type PricePer, scaleKey, unscaleKey } from '../domain/price/price-key.ts'
import type { PriceLimit } from '../domain/query.ts'
import { oncePerObject } from '../domain/remembered.ts'
import { firstFrom } from './binary-search.ts'
import { type Bitset, bitset, clearBit, setBit } from './bitset.ts'
import { isDense } from './column.ts'

/** The prices of a segment, row after row. Plain data that threads can exchange. */
export type PriceData = {
  /** Sorted. */
  bases: readonly string[]
  /** GPUs per slot; 0 without a count. */
  gpus: Uint16Array
  /** Per slot, its first price; one more at the end. */
  starts: Uint32Array
  /** Per price, its basis. */
  basisOf: Uint32Array
} & Record<PricePer, SortedPrices>

/** Flat, since sellers choose how many bases there are. Keys are numbered from 1 on, by basis, then ascending; 0 means no price. */
export type SortedPrices = {
  /** Per price, its key. */
  keyOf: Uint32Array
  /** A negative number -n is the nth of `large`. */
  keys: Float64Array
  large: readonly PriceKey[]
  /** Per basis, its first key; one more at the end. */
  basisStarts: Uint32Array
  /** Per key, its first slot; one more at the end. */
  keyStarts: Uint32Array
  /** By key, then newest first. */
  slots: Uint16Array
}

export type AskedPrices = {
  per: PricePer
  /** The group of some bases of a segment. */
  groupOf: ReadonlyMap<number, number>
  /** Absent: keys compare as they are. */
  scaleOf?: ((basis: number) => bigint) | undefined
  /** Higher prices, of scaled keys, do not compare. */
  max: PriceKey
}

export class PriceColumns {
  readonly data: PriceData
  #counts: Uint32Array | null = null
  /** Per basis, once it was asked for. */
  readonly #sets: (Bitset | null | undefined)[] = []

  constructor(data: PriceData) {
    this.data = data
  }

  /** -1 for none. */
  numberOf(basis: string): number {
    const n = this.#firstFrom(basis)
    return this.data.bases[n] === basis ? n : -1
  }

  *basesOf(tokens: PriceLimit['tokens']): Generator<number> {
    const { bases } = this.data
    for (const { chain, address } of tokens) {
      const prefix = `${chain}\n${address}\n`
      for (let n = this.#firstFrom(prefix); bases[n]?.startsWith(prefix); n++) yield n
    }
  }

  keyAt(per: PricePer, n: number): PriceKey {
    const { keys, large } = this.data[per]
    const key = keys[n]!
    return key >= 0 ? key : large[-key - 1]!
  }

  /** The first key of a basis that is `key` or greater; greater if `isBeyond`. */
  keyFrom(per: PricePer, basis: number, key: PriceKey, isBeyond: boolean): number {
    const { basisStarts } = this.data[per]
    return firstFrom(basisStarts[basis]!, basisStarts[basis + 1]!, (n) => {
      const other = this.keyAt(per, n)
      return isBeyond ? other > key : other >= key
    })
  }

  /** Adds the rows that a limit lets pass. */
  within({ tokens, per, max, scaleOf }: PriceLimit, target: Bitset): Bitset {
    for (const n of this.basesOf(tokens)) {
      const basis = this.data.bases[n]!
      if (per === 'offer' || parseBasis(basis).hasGpus)
        for (const slot of this.#slotsWithin(per, n, unscaleKey(max, scaleOf?.(basis)))) setBit(target, slot)
    }
    return target
  }

  /** Removes rows with a price in some group. */
  clearPriced(target: Bitset, { per, groupOf, scaleOf, max }: AskedPrices): void {
    for (const basis of groupOf.keys())
      for (const slot of this.#slotsWithin(per, basis, unscaleKey(max, scaleOf?.(basis))))
        clearBit(target, slot)
  }

  /** Prices of all rows, per basis. */
  get counts(): Uint32Array {
    this.#counts ??= Uint32Array.from(
      this.data.bases,
      (_, n) => this.#endOf('offer', n) - this.#startOf('offer', n),
    )
    return this.#counts
  }

  /** Slots with a price in a basis. */
  slotsOf(basis: number): Uint16Array {
    return this.data.offer.slots.subarray(this.#startOf('offer', basis), this.#endOf('offer', basis))
  }

  /** The same as a set; `null` where they are few. */
  setOf(basis: number): Bitset | null {
    const known = this.#sets[basis]
    if (known !== undefined) return known
    const all = this.data.gpus.length
    const set = isDense(this.counts[basis]!, all) ? bitset(all) : null
    if (set !== null) for (const slot of this.slotsOf(basis)) setBit(set, slot)
    this.#sets[basis] = set
    return set
  }

  /** Whether the row has no lower price in the group of this basis, and none in an earlier group. */
  isBest(slot: number, basis: number, key: PriceKey, { per, groupOf, scaleOf, max }: AskedPrices): boolean {
    const { starts, basisOf } = this.data
    const { keyOf } = this.data[per]
    const end = starts[slot + 1]!
    if (end - starts[slot]! === 1) return true
    const group = groupOf.get(basis)!
    for (let at = starts[slot]!; at < end; at++) {
      const other = basisOf[at]!
      const otherGroup = groupOf.get(other)
      if (other === basis || otherGroup === undefined || otherGroup > group) continue
      const otherKey = scaleKey(this.keyAt(per, keyOf[at]!), scaleOf?.(other))
      if (otherKey > max) continue
      if (otherGroup < group || otherKey < key || (otherKey === key && other < basis)) return false
    }
    return true
  }

  #slotsWithin(per: PricePer, basis: number, max: PriceKey): Uint16Array {
    const { slots, keyStarts } = this.data[per]
    return slots.subarray(this.#startOf(per, basis), keyStarts[this.keyFrom(per, basis, max, true)])
  }

  #startOf(per: PricePer, basis: number): number {
    const { basisStarts, keyStarts } = this.data[per]
    return keyStarts[basisStarts[basis]!]!
  }

  #endOf(per: PricePer, basis: number): number {
    return this.#startOf(per, basis + 1)
  }

  #firstFrom(text: string): number {
    const { bases } = this.data
    return firstFrom(0, bases.length, (n) => bases[n]! >= text)
  }
}

/** Of numbers, per binary digit, the slots that have it: those of many rows are added without looking at each. */
export const digitsOf = oncePerObject((numbers: Uint16Array): readonly Bitset[] => {
  const count = 32 - Math.clz32(numbers.reduce((all, number) => all | number, 0))
  const digits = Array.from({ length: count }, () => bitset(numbers.length))
  numbers.forEach((number, slot) => {
    for (const [n, digit] of digits.entries()) if (((number >> n) & 1) === 1) setBit(digit, slot)
  })
  return digits
})
