import type { PriceKey, PricePer } from '../domain/price/price-key.ts'
import { countBelow, isLess } from './column.ts'
import { ascending } from './column-builder.ts'
import type { PriceColumn, PriceData, SortedPrices } from './price-columns.ts'
import { keyFor, type RowPrices } from './row-prices.ts'

/** Of a segment, those of most rows: sellers choose the names in a basis. A basis has 8 bits. */
const MAX_BASES = 256

/** Collects the prices of rows in order of their slots. */
export class PriceColumnsBuilder {
  readonly #gpus: Uint16Array
  readonly #starts: Uint32Array
  readonly #numberOf = new Map<string, number>()
  readonly #counts: number[] = []
  /** The prices. */
  readonly #numbers: number[] = []
  readonly #keys: PriceKey[] = []

  constructor(rows: number) {
    this.#gpus = new Uint16Array(rows)
    this.#starts = new Uint32Array(rows + 1)
  }

  get size(): number {
    return this.#keys.length
  }

  add(slot: number, { gpus, bases, keys }: RowPrices): void {
    this.#gpus[slot] = gpus ?? 0
    for (let n = 0; n < keys.length; n++) {
      const number = this.#numberFor(bases[n]!)
      this.#counts[number]!++
      this.#numbers.push(number)
      this.#keys.push(keys[n]!)
    }
    this.#starts[slot + 1] = this.#keys.length
  }

  finish(rows: number): PriceData {
    const known = [...this.#numberOf.keys()]
    const kept = Array.from(known, (_, n) => n)
      .sort((a, b) => this.#counts[b]! - this.#counts[a]!)
      .slice(0, MAX_BASES)
    const entries = this.#entries(rows, kept)
    const gpus = this.#gpus.slice(0, rows)
    const byBasis = groupByBasis(entries.basisOf, kept.length)
    return {
      bases: kept.map((n) => known[n]!),
      gpus,
      starts: entries.starts,
      basisOf: entries.basisOf,
      gpu: sortedPrices('gpu', entries, byBasis, gpus),
      offer: sortedPrices('offer', entries, byBasis, gpus),
    }
  }

  #numberFor(basis: string): number {
    const known = this.#numberOf.get(basis)
    if (known !== undefined) return known
    this.#numberOf.set(basis, this.#counts.length)
    return this.#counts.push(0) - 1
  }

  /** The prices in one of the kept bases, which get new numbers. */
  #entries(rows: number, kept: readonly number[]): Entries {
    const newNumber = new Int16Array(this.#counts.length).fill(-1)
    for (const [n, number] of kept.entries()) newNumber[number] = n
    const size = kept.reduce((sum, number) => sum + this.#counts[number]!, 0)
    const starts = new Uint32Array(rows + 1)
    const basisOf = new Uint8Array(size)
    const slotOf = new Uint16Array(size)
    const keys: PriceKey[] = []
    for (let slot = 0; slot < rows; slot++) {
      for (let at = this.#starts[slot]!; at < this.#starts[slot + 1]!; at++) {
        const basis = newNumber[this.#numbers[at]!]!
        if (basis === -1) continue
        basisOf[keys.length] = basis
        slotOf[keys.length] = slot
        keys.push(this.#keys[at]!)
      }
      starts[slot + 1] = keys.length
    }
    return { starts, basisOf, slotOf, keys }
  }
}

type Entries = Pick<PriceData, 'starts' | 'basisOf'> & { slotOf: Uint16Array; keys: readonly PriceKey[] }

/** Numbers of the prices of each basis, in order of their slots. */
function groupByBasis(basisOf: Uint8Array, bases: number): Uint32Array[] {
  const counts = new Uint32Array(bases)
  for (let n = 0; n < basisOf.length; n++) counts[basisOf[n]!]!++
  const groups = Array.from(counts, (count) => new Uint32Array(count))
  const ends = new Uint32Array(bases)
  for (let n = 0; n < basisOf.length; n++) groups[basisOf[n]!]![ends[basisOf[n]!]!++] = n
  return groups
}

function sortedPrices(
  per: PricePer,
  { slotOf, keys }: Entries,
  byBasis: readonly Uint32Array[],
  gpus: Uint16Array,
): SortedPrices {
  const ranks = new Uint16Array(keys.length)
  const columns = byBasis.map((all): PriceColumn => {
    const entries = per === 'offer' ? all : all.filter((entry) => gpus[slotOf[entry]!] !== 0)
    const own = Array.from(entries, (entry) => keyFor(per, keys[entry]!, gpus[slotOf[entry]!]!)!)
    const distinct = withoutRepeats(ascending(own))
    const ends = new Uint32Array(distinct.length)
    for (const [n, entry] of entries.entries()) {
      const rank = countBelow(distinct, own[n]!, false)
      ranks[entry] = rank
      ends[rank]!++
    }
    for (let n = 1; n < ends.length; n++) ends[n]! += ends[n - 1]!
    const slots = new Uint16Array(entries.length)
    const nexts = ends.slice()
    for (const entry of entries) slots[--nexts[ranks[entry]!]!] = slotOf[entry]!
    return { keys: distinct, ends, slots }
  })
  return { ranks, columns }
}

function withoutRepeats(sorted: ArrayLike<PriceKey>): ArrayLike<PriceKey> {
  const isFirst = (key: PriceKey, n: number): boolean => n === 0 || isLess(sorted[n - 1]!, key)
  return sorted instanceof Float64Array ? sorted.filter(isFirst) : Array.from(sorted).filter(isFirst)
}
