import { comparePriceKeys, type PriceKey, scaleKey, unscaleKey } from '../domain/price/price-key.ts'
import type { PriceOrder } from '../domain/source/selection.ts'
import { hasBit } from './bitset.ts'
import { firstNotOlder, type Match, merged, newestFirst, olderThan } from './newest-first.ts'
import type { AskedPrices } from './price-columns.ts'
import { comparePlaces, type Place, type Segment } from './segment.ts'

/** A row; valid until the next one is taken. */
export type FoundByPrice = {
  readonly rows: Segment
  readonly slot: number
  readonly price: PriceKey
  group: number
}

/** Rows of all matches behind `after`, in the order of an answer by price. */
export function* byPrice(
  matches: readonly Match[],
  { groups, per, scaleOf, max = Number.POSITIVE_INFINITY }: PriceOrder,
  after: PriceAfter | null,
): Generator<FoundByPrice, void> {
  const groupOf = groupsOf(groups)
  const priced = matches.map((match): PricedMatch => {
    const numbers = Array.from(
      groupOf,
      ([basis, group]) => [match.rows.prices.numberOf(basis), group] as const,
    )
    const { bases } = match.rows.prices.data
    return {
      match,
      per,
      max,
      groupOf: new Map(numbers.filter(([basis]) => basis !== -1)),
      scaleOf: scaleOf && ((basis) => scaleOf(bases[basis]!)),
    }
  })
  for (let group = after?.group ?? 0; group < groups.length; group++) {
    const start = after?.group === group ? after : null
    const columns = priced.flatMap((one) =>
      Array.from(one.groupOf).flatMap(([basis, groupOfBasis]) =>
        groupOfBasis === group ? new ColumnRows(one, basis, start) : [],
      ),
    )
    for (const { rows, slot, price } of merged(columns, compareRows)) yield { rows, slot, price, group }
  }
  const unpriced = priced.map(withoutPrice).filter(({ count }) => count > 0)
  const isInside = after !== null && after.group >= groups.length
  const rest = isInside ? olderThan(unpriced, after) : newestFirst(unpriced)
  for (const { rows, slot } of rest) yield { rows, slot, price: 0, group: groups.length }
}

type PricedMatch = AskedPrices & { match: Match }

/** The first of several groups of a basis counts. */
export function groupsOf(groups: PriceOrder['groups']): Map<string, number> {
  const groupOf = new Map<string, number>()
  for (const [n, bases] of groups.entries())
    for (const basis of bases) if (!groupOf.has(basis)) groupOf.set(basis, n)
  return groupOf
}

/** A place behind which reading goes on. `price`: the one in its group, whose number is `group`. */
export type PriceAfter = Place & { group: number; price: PriceKey }

function withoutPrice(one: PricedMatch): Match {
  const { rows, slots, count, hidden } = one.match
  const unpriced = slots.slice()
  rows.prices.clearPriced(unpriced, one)
  return { rows, slots: unpriced, count, hidden }
}

/** The first of an answer is the greatest. */
function compareRows(a: ColumnRows, b: ColumnRows): number {
  return comparePriceKeys(b.price, a.price) || comparePlaces(a.place, b.place)
}

/** Matches in one basis of a segment, from a place on. */
class ColumnRows {
  readonly rows: Segment
  slot = -1
  price: PriceKey = 0
  readonly #priced: PricedMatch
  readonly #basis: number
  readonly #scale: bigint | undefined
  readonly #end: number
  #n: number
  #at: number

  constructor(priced: PricedMatch, basis: number, start: PriceAfter | null) {
    const { match, per, max, scaleOf } = priced
    const { rows } = match
    const { keyStarts, basisStarts, slots } = rows.prices.data[per]
    this.rows = rows
    this.#priced = priced
    this.#basis = basis
    this.#scale = scaleOf?.(basis)
    this.#end = keyStarts[rows.prices.keyFrom(per, basis, unscaleKey(max, this.#scale), true)]!
    const before = start && unscaleKey(start.price, this.#scale)
    const isAt = before !== null && scaleKey(before, this.#scale) === start!.price
    this.#n = before === null ? basisStarts[basis]! : rows.prices.keyFrom(per, basis, before, !isAt)
    this.#at = keyStarts[this.#n]!
    if (start === null || !isAt || this.#at >= this.#end || rows.prices.keyAt(per, this.#n) !== before) return
    const older = firstNotOlder(rows, start, 0, rows.size)
    while (this.#at < keyStarts[this.#n + 1]! && slots[this.#at]! >= older) this.#at++
  }

  get place(): Place {
    return this.rows.placeAt(this.slot)
  }

  advance(): boolean {
    const { match, per } = this.#priced
    const { prices } = this.rows
    const { keyStarts, slots } = prices.data[per]
    for (; this.#at < this.#end; this.#at++) {
      const slot = slots[this.#at]!
      if (!hasBit(match.slots, slot)) continue
      while (keyStarts[this.#n + 1]! <= this.#at) this.#n++
      const price = scaleKey(prices.keyAt(per, this.#n), this.#scale)
      if (!prices.isBest(slot, this.#basis, price, this.#priced)) continue
      this.#at++
      this.slot = slot
      this.price = price
      return true
    }
    return false
  }
}
