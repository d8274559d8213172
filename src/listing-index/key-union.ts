import { type PriceKey, type PricePer, scaleKey } from '../domain/price/price-key.ts'
import type { PriceCounts, PriceGrouping } from '../domain/price/price-order.ts'
import { type Bitset, countOf, difference, forEachBit } from './bitset.ts'
import { ascending } from './column-builder.ts'
import type { Match } from './newest-first.ts'
import type { PriceColumns } from './price-columns.ts'
import { MAX_SEGMENT_ROWS, type Segment } from './segment.ts'
import { STEP } from './segment-builder.ts'

/** Of one segment, whose other columns and texts are not kept alive. */
type Part = {
  prices: PriceColumns
  /** What matched without a filter when the union was made: later queries match almost the same. */
  base: Bitset
  /** Per price, where it is counted; 0 for one that is not, such as one above another of its row and group. */
  places: Uint32Array
}

/** Its keys in order, and where they are counted. */
type Group = { name: string; keys: ArrayLike<PriceKey>; places: Uint32Array }

type Counts = { offers: Uint32Array; gpus: Float64Array }

/** All keys of some segments, so that their counts are added without comparing keys, and the counts of the base. */
type Keys = { parts: readonly Part[]; groups: readonly Group[]; base: Counts }

/** What a question matches without its filters, and of how many sources. */
export type Base = { width: number; slotsOf: (segment: Segment) => Bitset }

/** The latest unions of an index, by what prices are divided by. */
export class KeyUnions {
  readonly #unions = new Map<PricePer, readonly KeyUnion[]>()

  /**
   * One of the tail, one of the small segments, and one of the large ones, which seldom change. The question over most sources
   * makes their base: the less a question differs from it, the faster it is counted. @param most rows of a segment
   */
  of(prices: PriceGrouping, segments: readonly Segment[], most: number, base: Base): readonly KeyUnion[] {
    const groups = Map.groupBy(segments, ({ tailSlots, size }) =>
      tailSlots !== undefined ? 'tail' : size * 2 < most ? 'small' : 'large',
    )
    const earlier = this.#unions.get(prices.per) ?? []
    const unions = Array.from(
      groups.values(),
      (group) =>
        earlier.find((union) => union.isOf(group, prices, base)) ?? new KeyUnion(group, prices, base),
    )
    this.#unions.set(prices.per, unions)
    return unions
  }
}

/** The keys of some segments, which are united once: concurrent counts take turns at the steps. */
class KeyUnion {
  readonly #segments: readonly PriceColumns[]
  readonly #groupOf: PriceGrouping['groupOf']
  readonly #width: number
  readonly #steps: Generator<void, Keys>
  #keys: Keys | null = null

  constructor(segments: readonly Segment[], prices: PriceGrouping, base: Base) {
    this.#segments = segments.map(({ prices }) => prices)
    this.#groupOf = prices.groupOf
    this.#width = base.width
    this.#steps = uniteKeys(segments, prices, base)
  }

  isOf(segments: readonly Segment[], { groupOf }: PriceGrouping, { width }: Base): boolean {
    const united = this.#segments
    if (groupOf !== this.#groupOf || width > this.#width) return false
    return segments.length === united.length && segments.every(({ prices }, n) => prices === united[n])
  }

  /** Prices of the matches by group. @param matches segments without a match may be left out */
  *count(matches: readonly Match[]): Generator<void, Map<string, PriceCounts>> {
    while (this.#keys === null) {
      const { done, value } = this.#steps.next()
      if (done === true) this.#keys = value
      else yield
    }
    const { parts, groups, base } = this.#keys
    const slotsOf = new Map(matches.map(({ rows, slots }) => [rows.prices, slots]))
    const changes = parts.map((part) => {
      const slots = slotsOf.get(part.prices) ?? new Int32Array(part.base.length)
      const [more, less] = [difference(slots, part.base), difference(part.base, slots)]
      return { part, slots, more, less, saved: countOf(slots) - countOf(more) - countOf(less) }
    })
    const areFew = changes.reduce((sum, { saved }) => sum + saved, 0) > 0
    const { offers, gpus } = base
    const counts = areFew
      ? { offers: offers.slice(), gpus: gpus.slice() }
      : { offers: new Uint32Array(offers.length), gpus: new Float64Array(gpus.length) }
    for (const { part, slots, more, less } of changes) {
      addCounts(part, areFew ? more : slots, counts, 1)
      if (areFew) addCounts(part, less, counts, -1)
    }
    const byGroup = new Map<string, PriceCounts>()
    for (const group of groups) {
      const ofGroup = countsAt(group, counts)
      if (ofGroup.offers > 0) byGroup.set(group.name, ofGroup)
    }
    return byGroup
  }
}

/** In steps of about a ms, but for the sort of a group. */
function* uniteKeys(
  segments: readonly Segment[],
  { per, groupOf: nameOf, scaleOf }: PriceGrouping,
  { slotsOf }: Base,
): Generator<void, Keys> {
  const placesByName = new Map<string, Map<PriceKey, number>>()
  const numbers = new Map<string, number>()
  const parts: Part[] = []
  let size = 1
  let work = 0
  for (const segment of segments) {
    const { prices } = segment
    const { bases } = prices.data
    const { keys, basisStarts } = prices.data[per]
    const placeOfKey = new Uint32Array(keys.length)
    const groupOf = new Int32Array(bases.length).fill(-1)
    const scales = scaleOf && bases.map(scaleOf)
    for (const n of greatest(prices.counts)) {
      const name = nameOf(bases[n]!)
      const placeOf = placesByName.get(name) ?? new Map<PriceKey, number>()
      placesByName.set(name, placeOf)
      if (!numbers.has(name)) numbers.set(name, numbers.size)
      groupOf[n] = numbers.get(name)!
      for (let at = basisStarts[n]!; at < basisStarts[n + 1]!; at++) {
        const key = scaleKey(prices.keyAt(per, at), scales?.[n])
        const place = placeOf.get(key) ?? size
        if (place === size) placeOf.set(key, size++)
        placeOfKey[at] = place
        if (++work % STEP === 0) yield
      }
    }
    const places = yield* placesIn(prices, { per, groupOf, scales, placeOfKey })
    parts.push({ prices, base: slotsOf(segment).slice(), places })
  }
  const base = { offers: new Uint32Array(size), gpus: new Float64Array(size) }
  for (const part of parts) {
    addCounts(part, part.base, base, 1)
    yield
  }
  const groups: Group[] = []
  for (const [name, placeOf] of placesByName) {
    const keys = ascending([...placeOf.keys()])
    const places = new Uint32Array(keys.length)
    for (let n = 0; n < keys.length; n++) {
      places[n] = placeOf.get(keys[n]!)!
      if (++work % STEP === 0) yield
    }
    groups.push({ name, keys, places })
  }
  return { parts, groups, base }
}

/** Per basis its group, and its scale; absent: keys compare as they are. Per key, where it is counted. */
type Keyed = {
  per: PricePer
  groupOf: Int32Array
  scales: readonly bigint[] | undefined
  placeOfKey: Uint32Array
}

/** Per price. Of the prices of a row in one group the lowest counts. */
function* placesIn(prices: PriceColumns, keyed: Keyed): Generator<void, Uint32Array> {
  const { starts } = prices.data
  const { keyOf } = prices.data[keyed.per]
  const places = Uint32Array.from(keyOf, (key) => keyed.placeOfKey[key]!)
  let work = 0
  for (let slot = 0; slot + 1 < starts.length; slot++) {
    const [start, end] = [starts[slot]!, starts[slot + 1]!]
    if (end - start > 1)
      for (let at = start; at < end; at++) if (hasLower(prices, keyed, { start, end, at })) places[at] = 0
    work += (end - start) ** 2
    if (work < STEP) continue
    work = 0
    yield
  }
  return places
}

/** Whether another price of the row, in the same group, counts in place of this one. */
function hasLower(
  prices: PriceColumns,
  { per, groupOf, scales }: Keyed,
  { start, end, at }: { start: number; end: number; at: number },
): boolean {
  const { basisOf } = prices.data
  const { keyOf } = prices.data[per]
  const group = groupOf[basisOf[at]!]!
  const keyAt = (n: number): PriceKey => scaleKey(prices.keyAt(per, keyOf[n]!), scales?.[basisOf[n]!])
  const key = keyAt(at)
  for (let other = start; other < end; other++) {
    if (other === at || groupOf[basisOf[other]!] !== group || keyOf[other] === 0) continue
    const otherKey = keyAt(other)
    if (otherKey < key || (otherKey === key && other < at)) return true
  }
  return false
}

function addCounts({ prices, places }: Part, slots: Bitset, { offers, gpus }: Counts, sign: number): void {
  const { starts, gpus: gpusOf } = prices.data
  forEachBit(slots, (slot) => {
    const end = starts[slot + 1]!
    const change = sign * gpusOf[slot]!
    for (let at = starts[slot]!; at < end; at++) {
      const place = places[at]!
      offers[place]! += sign
      gpus[place]! += change
    }
  })
}

/** Keys without an offer are left out. */
function countsAt({ keys: all, places }: Group, { offers: offersAt, gpus: gpusAt }: Counts): PriceCounts {
  const keys: PriceKey[] = []
  const counts: number[] = []
  let offers = 0
  let gpus = 0
  for (let n = 0; n < places.length; n++) {
    const place = places[n]!
    const count = offersAt[place]!
    if (count === 0) continue
    keys.push(all[n]!)
    counts.push(count)
    offers += count
    gpus += gpusAt[place]!
  }
  return { offers, gpus, keys, counts }
}

/** Of a segment, those with most prices count: sellers choose how many there are. */
const MAX_BASES = 1024

/** Indexes of the greatest of these counts, at most `MAX_BASES`. */
export function greatest(counts: Uint32Array): Iterable<number> {
  if (counts.length <= MAX_BASES) return counts.keys()
  const having = new Uint32Array(MAX_SEGMENT_ROWS + 1)
  for (const count of counts) having[count]!++
  let least = having.length
  let room = MAX_BASES
  while (having[least - 1]! <= room) room -= having[--least]!
  return [...counts.keys()].filter((n) => counts[n]! >= least || (counts[n] === least - 1 && room-- > 0))
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
