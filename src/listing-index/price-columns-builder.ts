import { comparePriceKeys, type PriceKey, type PricePer } from '../domain/price/price-key.ts'
import type { PriceColumn, PriceData, SortedPrices } from './price-columns.ts'
import { keyFor, type RowPrices } from './row-prices.ts'

/** Of a segment: sellers choose the names in a basis, and each takes about 1 KiB. */
const MAX_BASES = 4096

/** Collects the prices of rows in order of their slots. */
export class PriceColumnsBuilder {
  readonly #gpus: Uint16Array
  readonly #starts: Uint32Array
  readonly #numberOf = new Map<string, number>()
  readonly #counts: number[] = []
  /** Each row has one vote for its bases, so that few rows with many names displace no other basis. */
  readonly #votes: number[] = []
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
      this.#votes[number]! += 1 / keys.length
      this.#numbers.push(number)
      this.#keys.push(keys[n]!)
    }
    this.#starts[slot + 1] = this.#keys.length
  }

  /** In steps. `isDue`: whether a step ends with so many more prices. */
  *finish(rows: number, isDue: (prices: number) => boolean): Generator<void, PriceData> {
    const known = [...this.#numberOf.keys()]
    const kept = Array.from(known, (_, n) => n)
      .sort((a, b) => this.#votes[b]! - this.#votes[a]!)
      .slice(0, MAX_BASES)
    const entries = this.#entries(rows, kept)
    const gpus = this.#gpus.slice(0, rows)
    const byBasis = groupByBasis(entries.basisOf, kept.length)
    if (isDue(this.size)) yield
    return {
      bases: kept.map((n) => known[n]!),
      gpus,
      starts: entries.starts,
      basisOf: entries.basisOf,
      gpu: yield* sortedPrices('gpu', entries, byBasis, gpus, isDue),
      offer: yield* sortedPrices('offer', entries, byBasis, gpus, isDue),
    }
  }

  #numberFor(basis: string): number {
    const known = this.#numberOf.get(basis)
    if (known !== undefined) return known
    this.#numberOf.set(basis, this.#counts.length)
    this.#votes.push(0)
    return this.#counts.push(0) - 1
  }

  /** The prices in one of the kept bases, which get new numbers. */
  #entries(rows: number, kept: readonly number[]): Entries {
    const newNumber = new Int32Array(this.#counts.length).fill(-1)
    for (const [n, number] of kept.entries()) newNumber[number] = n
    const size = kept.reduce((sum, number) => sum + this.#counts[number]!, 0)
    const starts = new Uint32Array(rows + 1)
    const basisOf = new Uint16Array(size)
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
function groupByBasis(basisOf: Uint16Array, bases: number): Uint32Array[] {
  const counts = new Uint32Array(bases)
  for (let n = 0; n < basisOf.length; n++) counts[basisOf[n]!]!++
  const groups = Array.from(counts, (count) => new Uint32Array(count))
  const ends = new Uint32Array(bases)
  for (let n = 0; n < basisOf.length; n++) groups[basisOf[n]!]![ends[basisOf[n]!]!++] = n
  return groups
}

function* sortedPrices(
  per: PricePer,
  { slotOf, keys }: Entries,
  byBasis: readonly Uint32Array[],
  gpus: Uint16Array,
  isDue: (prices: number) => boolean,
): Generator<void, SortedPrices> {
  const ranks = new Uint16Array(keys.length)
  const columns: PriceColumn[] = []
  for (const all of byBasis) {
    const entries = per === 'offer' ? all : all.filter((entry) => gpus[slotOf[entry]!] !== 0)
    const own = keysOf(per, entries, { slotOf, keys }, gpus)
    const distinct = own instanceof Float64Array ? distinctDoubles(own) : distinctKeys(own)
    const ends = new Uint32Array(distinct.length)
    for (let n = 0; n < entries.length; n++) {
      const rank = rankOf(distinct, own[n]!)
      ranks[entries[n]!] = rank
      ends[rank]!++
    }
    for (let n = 1; n < ends.length; n++) ends[n]! += ends[n - 1]!
    const slots = new Uint16Array(entries.length)
    const nexts = ends.slice()
    for (let n = 0; n < entries.length; n++) slots[--nexts[ranks[entries[n]!]!]!] = slotOf[entries[n]!]!
    columns.push({ keys: distinct, ends, slots })
    if (isDue(entries.length)) yield
  }
  return { ranks, columns }
}

function keysOf(
  per: PricePer,
  entries: Uint32Array,
  { slotOf, keys }: Pick<Entries, 'slotOf' | 'keys'>,
  gpus: Uint16Array,
): Float64Array | PriceKey[] {
  const own = new Float64Array(entries.length)
  for (let n = 0; n < entries.length; n++) {
    const key = keyFor(per, keys[entries[n]!]!, gpus[slotOf[entries[n]!]!]!)!
    if (typeof key === 'bigint')
      return Array.from(entries, (entry) => keyFor(per, keys[entry]!, gpus[slotOf[entry]!]!)!)
    own[n] = key
  }
  return own
}

function distinctDoubles(keys: Float64Array): Float64Array {
  const sorted = keys.slice().sort()
  let size = 0
  for (let n = 0; n < sorted.length; n++)
    if (n === 0 || sorted[n] !== sorted[n - 1]) sorted[size++] = sorted[n]!
  return sorted.slice(0, size)
}

const distinctKeys = (keys: readonly PriceKey[]): PriceKey[] => [...new Set(keys)].sort(comparePriceKeys)

/** Of a key among the ascending `keys`. */
function rankOf(keys: Float64Array | readonly PriceKey[], key: PriceKey): number {
  let low = 0
  let high = keys.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (keys[middle]! < key) low = middle + 1
    else high = middle
  }
  return low
}
