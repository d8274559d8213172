import type { PriceKey, PricePer } from '../domain/price/price-key.ts'
import type { PriceCounts } from '../domain/source/selection.ts'
import type { Bitset } from './bitset.ts'
import { endBelow, type PriceColumn, type PriceColumns } from './price-columns.ts'

type Keys = ArrayLike<PriceKey>

/** All keys of some segments, so that their counts are added without comparing keys. */
export class KeyUnion {
  readonly segments: readonly PriceColumns[]
  readonly #per: PricePer
  /** By basis; the counts of `keys` begin at `start`. */
  readonly #bases = new Map<string, { keys: Keys; start: number }>()
  /** Per segment, basis and place in its column: the place of the key in the counts. */
  readonly #places: readonly (readonly Uint32Array[])[]
  #size = 0

  constructor(segments: readonly PriceColumns[], per: PricePer) {
    this.segments = segments
    this.#per = per
    const parts = new Map<string, Keys[]>()
    for (const { data } of segments)
      for (const [n, basis] of data.bases.entries()) {
        const known = parts.get(basis)
        if (known === undefined) parts.set(basis, [data[per].columns[n]!.keys])
        else known.push(data[per].columns[n]!.keys)
      }
    for (const [basis, all] of parts) {
      const keys = unionOf(all)
      this.#bases.set(basis, { keys, start: this.#size })
      this.#size += keys.length
    }
    this.#places = segments.map(({ data }) =>
      data.bases.map((basis, n) => placesOf(data[per].columns[n]!, this.#bases.get(basis)!)),
    )
  }

  /** @param matches per segment; without an entry none match */
  count(matches: ReadonlyMap<PriceColumns, { slots: Bitset; count: number }>): Map<string, PriceCounts> {
    const counts = new Uint32Array(this.#size)
    const gpusOf = new Map<string, number>()
    for (const [n, segment] of this.segments.entries()) {
      const match = matches.get(segment)
      if (match === undefined) continue
      const gpus = segment.addCounts(match, this.#per, this.#places[n]!, counts)
      for (const [basis, count] of gpus.entries()) {
        const name = segment.data.bases[basis]!
        gpusOf.set(name, (gpusOf.get(name) ?? 0) + count)
      }
    }
    const found = new Map<string, PriceCounts>()
    for (const [basis, { keys, start }] of this.#bases) {
      const own = withoutZeros(keys, counts, start)
      if (own.offers > 0) found.set(basis, { ...own, gpus: gpusOf.get(basis)! })
    }
    return found
  }
}

/** Neighbours are merged first: lists of similar length. */
function unionOf(parts: readonly Keys[]): Keys {
  if (parts.length === 1) return parts[0]!
  const middle = parts.length >> 1
  return merged(unionOf(parts.slice(0, middle)), unionOf(parts.slice(middle)))
}

function merged(a: Keys, b: Keys): Keys {
  const areDoubles = a instanceof Float64Array && b instanceof Float64Array
  const most = a.length + b.length
  const keys = areDoubles ? new Float64Array(most) : new Array<PriceKey>(most)
  let size = 0
  let atA = 0
  let atB = 0
  while (atA < a.length && atB < b.length) {
    const one = a[atA]!
    const other = b[atB]!
    keys[size++] = one <= other ? one : other
    if (one <= other) atA++
    if (other <= one) atB++
  }
  while (atA < a.length) keys[size++] = a[atA++]!
  while (atB < b.length) keys[size++] = b[atB++]!
  return keys.slice(0, size)
}

function placesOf(own: PriceColumn, { keys, start }: { keys: Keys; start: number }): Uint32Array {
  const places = new Uint32Array(own.slots.length)
  let at = 0
  for (let n = 0; n < own.keys.length; n++) {
    while (keys[at]! < own.keys[n]!) at++
    places.fill(start + at, endBelow(own.ends, n), own.ends[n])
  }
  return places
}

function withoutZeros(all: Keys, allCounts: Uint32Array, start: number): Omit<PriceCounts, 'gpus'> {
  const keys: PriceKey[] = []
  const counts: number[] = []
  let offers = 0
  for (let n = 0; n < all.length; n++) {
    const count = allCounts[start + n]!
    if (count === 0) continue
    keys.push(all[n]!)
    counts.push(count)
    offers += count
  }
  return { offers, keys, counts }
}

/** With `sign` -1, those of `a` without those of `b`. Keys without an offer are left out. */
export function addPriceCounts(a: PriceCounts, b: PriceCounts, sign: 1 | -1 = 1): PriceCounts {
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
