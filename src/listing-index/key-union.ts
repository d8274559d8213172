import type { PriceKey, PricePer } from '../domain/price/price-key.ts'
import type { PriceCounts } from '../domain/source/selection.ts'
import type { Bitset } from './bitset.ts'
import type { PriceColumns } from './price-columns.ts'
import { MAX_SEGMENT_ROWS } from './segment.ts'

type Keys = ArrayLike<PriceKey>

/** All keys of some segments, so that their counts are added without comparing keys. */
export class KeyUnion {
  readonly segments: readonly PriceColumns[]
  readonly #per: PricePer
  /** Per segment, the bases that count. */
  readonly #counted: readonly (readonly number[])[]
  /** By basis; the counts of `keys` begin at `start`. */
  readonly #bases = new Map<string, { keys: Keys; start: number }>()
  /** Per segment and place in its order: the place of the key in the counts. */
  readonly #places: readonly Uint32Array[]
  #size = 0

  constructor(segments: readonly PriceColumns[], per: PricePer) {
    this.segments = segments
    this.#per = per
    const parts = new Map<string, Keys[]>()
    this.#counted = segments.map((segment) => [...greatest(segment.countPrices(per))])
    for (const [at, segment] of segments.entries())
      for (const n of this.#counted[at]!) {
        const basis = segment.data.bases[n]!
        parts.set(basis, [...(parts.get(basis) ?? []), segment.keysOf(per, n)])
      }
    for (const [basis, all] of parts) {
      const keys = unionOf(all)
      this.#bases.set(basis, { keys, start: this.#size })
      this.#size += keys.length
    }
    this.#places = segments.map((segment, at) => this.#placesIn(segment, this.#counted[at]!))
  }

  /** @param matches per segment; without an entry none match */
  count(matches: ReadonlyMap<PriceColumns, { slots: Bitset }>): Map<string, PriceCounts> {
    const counts = new Uint32Array(this.#size)
    const gpusOf = new Map<string, number>()
    for (const [n, segment] of this.segments.entries()) {
      const match = matches.get(segment)
      if (match === undefined) continue
      for (const basis of this.#counted[n]!) {
        const name = segment.data.bases[basis]!
        const gpus = segment.addCounts(match.slots, this.#per, basis, this.#places[n]!, counts)
        gpusOf.set(name, (gpusOf.get(name) ?? 0) + gpus)
      }
    }
    const found = new Map<string, PriceCounts>()
    for (const [basis, { keys, start }] of this.#bases) {
      const all = { keys, counts: counts.subarray(start, start + keys.length), gpus: gpusOf.get(basis)! }
      const own = addPriceCounts(all, NO_COUNTS)
      if (own.offers > 0) found.set(basis, own)
    }
    return found
  }

  #placesIn(segment: PriceColumns, counted: readonly number[]): Uint32Array {
    const per = this.#per
    const { slots, ends } = segment.data[per]
    const found = new Uint32Array(slots.length)
    for (const n of counted) {
      const { keys, start } = this.#bases.get(segment.data.bases[n]!)!
      let at = 0
      for (let place = segment.startOf(per, n); place < ends[n]!; place++) {
        while (keys[at]! < segment.keyAt(per, place)) at++
        found[place] = start + at
      }
    }
    return found
  }
}

/** Of a segment, those with most prices count: sellers choose how many there are. */
const MAX_BASES = 1024

/** Where the greatest of these numbers of rows are, at most `MAX_BASES`. */
export function greatest(counts: Uint32Array): Iterable<number> {
  if (counts.length <= MAX_BASES) return counts.keys()
  const having = new Uint32Array(MAX_SEGMENT_ROWS + 1)
  for (const count of counts) having[count]!++
  let least = having.length
  let room = MAX_BASES
  while (having[least - 1]! <= room) room -= having[--least]!
  return [...counts.keys()].filter((n) => counts[n]! >= least || (counts[n] === least - 1 && room-- > 0))
}

/** Ascending and different. Neighbours are merged first: lists of similar length. */
function unionOf(parts: readonly Keys[]): Keys {
  const middle = parts.length >> 1
  return middle === 0
    ? union(parts[0]!, [])
    : union(unionOf(parts.slice(0, middle)), unionOf(parts.slice(middle)))
}

function union(a: Keys, b: Keys): Keys {
  const keys: PriceKey[] = []
  let atA = 0
  let atB = 0
  while (atA < a.length || atB < b.length) {
    const key = lower(a[atA], b[atB])
    keys.push(key)
    while (a[atA] === key) atA++
    while (b[atB] === key) atB++
  }
  return keys
}

type Counts = { keys: Keys; counts: ArrayLike<number>; gpus: number }
const NO_COUNTS: Counts = { keys: [], counts: [], gpus: 0 }

/** With `sign` -1, those of `a` without those of `b`. Keys without an offer are left out. */
export function addPriceCounts(a: Counts, b: Counts, sign: 1 | -1 = 1): PriceCounts {
  const keys: PriceKey[] = []
  const counts: number[] = []
  let offers = 0
  let atA = 0
  let atB = 0
  while (atA < a.keys.length || atB < b.keys.length) {
    const key = lower(a.keys[atA], b.keys[atB])
    let count = a.keys[atA] === key ? a.counts[atA++]! : 0
    if (b.keys[atB] === key) count += sign * b.counts[atB++]!
    if (count <= 0) continue
    keys.push(key)
    counts.push(count)
    offers += count
  }
  return { offers, gpus: Math.max(0, a.gpus + sign * b.gpus), keys, counts }
}

function lower(one: PriceKey | undefined, other: PriceKey | undefined): PriceKey {
  return other === undefined || (one !== undefined && one < other) ? one! : other
}
