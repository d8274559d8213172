import { keyPer, type PriceKey, type PricePer, type Sizes } from '../domain/price/price-key.ts'
import { ascending } from './column-builder.ts'
import type { RowPrices } from './document-reader.ts'
import type { PriceData, SortedPrices } from './price-columns.ts'

/** Collects the prices of rows in order of their slots. */
export class PriceColumnsBuilder {
  readonly #gpus: Uint16Array
  readonly #sizes: Sizes[] = []
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

  add(slot: number, { sizes, bases, keys }: RowPrices): void {
    this.#gpus[slot] = sizes.gpu ?? 0
    this.#sizes.push(sizes)
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
    const counts = new Uint32Array(bases.length)
    for (let n = 0; n < basisOf.length; n++) {
      basisOf[n] = order[this.#numbers[n]!]!
      counts[basisOf[n]!]!++
    }
    const starts = startsOf(counts)
    const nexts = starts.slice()
    const byBasis = new Uint32Array(basisOf.length)
    for (let n = basisOf.length - 1; n >= 0; n--) byBasis[nexts[basisOf[n]!]!++] = n
    yield basisOf.length
    return {
      bases,
      gpus: this.#gpus.slice(0, rows),
      starts: this.#starts.slice(0, rows + 1),
      basisOf,
      gpu: yield* this.#sorted('gpu', byBasis, starts),
      offer: yield* this.#sorted('offer', byBasis, starts),
      gb: yield* this.#sorted('gb', byBasis, starts),
      tflop: yield* this.#sorted('tflop', byBasis, starts),
    }
  }

  /** @param byBasis the prices of each basis, newest first, from `starts` on */
  *#sorted(per: PricePer, byBasis: Uint32Array, starts: Uint32Array): Generator<number, SortedPrices> {
    const keyOf = new Uint32Array(byBasis.length)
    const keys = [0]
    const counts = [0]
    const large: PriceKey[] = []
    const basisStarts = new Uint32Array(starts.length).fill(1)
    for (let basis = 0; basis < starts.length - 1; basis++) {
      const prices = byBasis.subarray(starts[basis], starts[basis + 1])
      /** In order of arrival. */
      const numberOf = new Map<PriceKey, number>()
      for (let n = 0; n < prices.length; n++) {
        const price = prices[n]!
        const key = keyPer(per, this.#keys[price]!, this.#sizes[this.#slots[price]!]!)
        if (key === null) continue
        const number = numberOf.get(key) ?? numberOf.size + 1
        if (number > numberOf.size) numberOf.set(key, number)
        keyOf[price] = number
      }
      const sorted = ascending([...numberOf.keys()])
      const order = new Uint32Array(sorted.length + 1)
      for (let n = 0; n < sorted.length; n++) {
        const key = sorted[n]!
        order[numberOf.get(key)!] = keys.length
        keys.push(typeof key === 'number' ? key : -large.push(key))
        counts.push(0)
      }
      for (let n = 0; n < prices.length; n++) {
        const number = order[keyOf[prices[n]!]!]!
        keyOf[prices[n]!] = number
        counts[number]!++
      }
      basisStarts[basis + 1] = keys.length
      yield prices.length
    }
    const keyStarts = startsOf(counts)
    const nexts = keyStarts.slice()
    const slots = new Uint16Array(byBasis.length)
    for (let n = 0; n < byBasis.length; n++) {
      const price = byBasis[n]!
      slots[nexts[keyOf[price]!]!++] = this.#slots[price]!
    }
    return { keyOf, keys: new Float64Array(keys), large, basisStarts, keyStarts, slots }
  }
}

/** Where each part begins; one more at the end. */
function startsOf(counts: ArrayLike<number>): Uint32Array {
  const starts = new Uint32Array(counts.length + 1)
  for (let n = 0; n < counts.length; n++) starts[n + 1] = starts[n]! + counts[n]!
  return starts
}
