import type { PriceKey, PricePer } from '../domain/price/price-key.ts'
import { ascending } from './column-builder.ts'
import type { PriceData, SortedPrices } from './price-columns.ts'
import { keyFor, type RowPrices } from './row-prices.ts'

/** Collects the prices of rows in order of their slots. */
export class PriceColumnsBuilder {
  readonly #gpus: Uint16Array
  readonly #starts: Uint32Array
  /** In order of arrival. */
  readonly #numberOf = new Map<string, number>()
  /** The prices. */
  readonly #numbers: number[] = []
  readonly #slots: number[] = []
  readonly #keys: PriceKey[] = []

  constructor(rows: number) {
    this.#gpus = new Uint16Array(rows)
    this.#starts = new Uint32Array(rows + 1)
  }

  add(slot: number, { gpus, bases, keys }: RowPrices): void {
    this.#gpus[slot] = gpus ?? 0
    for (let n = 0; n < keys.length; n++) {
      const basis = bases[n]!
      const number = this.#numberOf.get(basis) ?? this.#numberOf.size
      if (number === this.#numberOf.size) this.#numberOf.set(basis, number)
      this.#numbers.push(number)
      this.#slots.push(slot)
      this.#keys.push(keys[n]!)
    }
    this.#starts[slot + 1] = this.#keys.length
  }

  /** In steps, each of which gives its prices. */
  *finish(rows: number): Generator<number, PriceData> {
    const bases = [...this.#numberOf.keys()].sort()
    const order = new Uint32Array(bases.length)
    for (const [n, basis] of bases.entries()) order[this.#numberOf.get(basis)!] = n
    const basisOf = new Uint32Array(this.#keys.length)
    const ends = new Uint32Array(bases.length)
    for (let n = 0; n < basisOf.length; n++) {
      basisOf[n] = order[this.#numbers[n]!]!
      ends[basisOf[n]!]!++
    }
    for (let n = 1; n < ends.length; n++) ends[n]! += ends[n - 1]!
    const prices = { byBasis: newestFirst(basisOf, ends), ends }
    yield basisOf.length
    return {
      bases,
      gpus: this.#gpus.slice(0, rows),
      starts: this.#starts.slice(0, rows + 1),
      basisOf,
      gpu: yield* this.#sorted('gpu', prices),
      offer: yield* this.#sorted('offer', prices),
    }
  }

  *#sorted(
    per: PricePer,
    { byBasis, ends: basisEnds }: { byBasis: Uint32Array; ends: Uint32Array },
  ): Generator<number, SortedPrices> {
    const places = new Int32Array(byBasis.length).fill(-1)
    const slots = new Uint16Array(byBasis.length)
    const keys = new Float64Array(byBasis.length)
    const large: PriceKey[] = []
    const ends = new Uint32Array(basisEnds.length)
    let start = 0
    for (let basis = 0; basis < ends.length; basis++) {
      const prices = byBasis.subarray(basis === 0 ? 0 : basisEnds[basis - 1], basisEnds[basis])
      const { priced, own } = this.#keysOf(per, prices)
      const sorted = ascending(own)
      const taken = new Uint32Array(own.length)
      for (let n = 0; n < own.length; n++) {
        const first = firstOf(own[n]!, sorted)
        const place = start + first + taken[first]!++
        places[priced[n]!] = place
        slots[place] = this.#slots[priced[n]!]!
      }
      for (let n = 0; n < own.length; n++) {
        const key = sorted[n]!
        keys[start + n] = typeof key === 'number' ? key : -large.push(key)
      }
      start += own.length
      ends[basis] = start
      yield own.length
    }
    return { places, keys: keys.slice(0, start), large, slots: slots.slice(0, start), ends }
  }

  /** Without the prices whose GPUs are unknown. */
  #keysOf(per: PricePer, prices: Uint32Array): { priced: number[]; own: PriceKey[] } {
    const priced: number[] = []
    const own: PriceKey[] = []
    for (let n = 0; n < prices.length; n++) {
      const price = prices[n]!
      const key = keyFor(per, this.#keys[price]!, this.#gpus[this.#slots[price]!]! || null)
      if (key === null) continue
      priced.push(price)
      own.push(key)
    }
    return { priced, own }
  }
}

/** The prices of each basis. */
function newestFirst(basisOf: Uint32Array, ends: Uint32Array): Uint32Array {
  const nexts = new Uint32Array(ends.length + 1)
  nexts.set(ends, 1)
  const found = new Uint32Array(basisOf.length)
  for (let n = basisOf.length - 1; n >= 0; n--) found[nexts[basisOf[n]!]!++] = n
  return found
}

/** The first place of a key in its order. */
function firstOf(key: PriceKey, sorted: ArrayLike<PriceKey>): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (sorted[middle]! < key) low = middle + 1
    else high = middle
  }
  return low
}
