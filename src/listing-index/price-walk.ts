import { comparePriceKeys, type PriceKey, scaleKey, unscaleKey } from '../domain/price/price-key.ts'
import type { PriceOrder } from '../domain/price/price-order.ts'
import { hasBit } from './bitset.ts'
import { firstNotOlder, type Match, merged, newestFirst, olderThan } from './newest-first.ts'
import type { AskedPrices } from './price-columns.ts'
import { comparePlaces, type Place, type Segment } from './segment.ts'

/** `group`: the number of that in which it has the price; one more without a price. */
type FoundByPrice = { rows: Segment; slot: number; price: PriceKey; group: number }

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
        groupOfBasis === group ? columnRows(one, basis, start) : [],
      ),
    )
    yield* merged(columns, compareRows)
  }
  const unpriced = priced.map(withoutPrice).filter(({ count }) => count > 0)
  const isInside = after !== null && after.group >= groups.length
  const rest = isInside ? olderThan(unpriced, after) : newestFirst(unpriced)
  for (const { rows, slot } of rest) yield { rows, slot, price: 0, group: groups.length }
}

type PricedMatch = AskedPrices & { match: Match }

/** The first of several groups of a basis counts. */
function groupsOf(groups: PriceOrder['groups']): Map<string, number> {
  const groupOf = new Map<string, number>()
  for (const [n, bases] of groups.entries())
    for (const basis of bases) if (!groupOf.has(basis)) groupOf.set(basis, n)
  return groupOf
}

/** A place behind which reading goes on. `price`: the one in its group, whose number is `group`. */
export type PriceAfter = Place & { group: number; price: PriceKey }

function withoutPrice(one: PricedMatch): Match {
  const { rows, slots, count } = one.match
  const unpriced = slots.slice()
  rows.prices.clearPriced(unpriced, one)
  return { rows, slots: unpriced, count }
}

/** The first of an answer is the greatest. */
function compareRows(a: FoundByPrice, b: FoundByPrice): number {
  return comparePriceKeys(b.price, a.price) || comparePlaces(a.rows.placeAt(a.slot), b.rows.placeAt(b.slot))
}

/** Matches in one basis of a segment, from a place on. */
function* columnRows(
  priced: PricedMatch,
  basis: number,
  start: PriceAfter | null,
): Generator<FoundByPrice, void> {
  const { match, per, max, scaleOf } = priced
  const { rows } = match
  const { prices } = rows
  const { keyStarts, slots } = prices.data[per]
  const scale = scaleOf?.(basis)
  const group = priced.groupOf.get(basis)!
  const end = keyStarts[prices.keyFrom(per, basis, unscaleKey(max, scale), true)]!
  let { n, at } = firstAfter(priced, basis, start)
  for (; at < end; at++) {
    const slot = slots[at]!
    if (!hasBit(match.slots, slot)) continue
    while (keyStarts[n + 1]! <= at) n++
    const price = scaleKey(prices.keyAt(per, n), scale)
    if (prices.isBest(slot, basis, price, priced)) yield { rows, slot, price, group }
  }
}

/** Where a column goes on: the number of the key, and of the price. */
function firstAfter(
  { match: { rows }, per, scaleOf }: PricedMatch,
  basis: number,
  start: PriceAfter | null,
): { n: number; at: number } {
  const { prices } = rows
  const { keyStarts, basisStarts, slots } = prices.data[per]
  if (start === null) return { n: basisStarts[basis]!, at: keyStarts[basisStarts[basis]!]! }
  const scale = scaleOf?.(basis)
  const before = unscaleKey(start.price, scale)
  const isAt = scaleKey(before, scale) === start.price
  const n = prices.keyFrom(per, basis, before, !isAt)
  let at = keyStarts[n]!
  if (!isAt || n === basisStarts[basis + 1] || prices.keyAt(per, n) !== before) return { n, at }
  const older = firstNotOlder(rows, start, 0, rows.size)
  while (at < keyStarts[n + 1]! && slots[at]! >= older) at++
  return { n, at }
}
