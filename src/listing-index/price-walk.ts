import { comparePriceKeys, type PriceKey } from '../domain/price/price-key.ts'
import type { PriceOrder, PricePlace } from '../domain/source/selection.ts'
import { hasBit } from './bitset.ts'
import { countBelow } from './column.ts'
import {
  comparePlaces,
  firstNotOlder,
  type Match,
  newestFirst,
  olderThan,
  type Place,
  type Rows,
} from './newest-first.ts'
import { type AskedPrices, endBelow, forEachBit, type PriceColumns } from './price-columns.ts'

type PricedRows = Rows & { readonly prices: PriceColumns }
/** A row; valid until the next one is taken. */
type PricedRow<R extends PricedRows> = { readonly rows: R; readonly slot: number; readonly key: PriceKey }
export type FoundByPrice<R extends PricedRows> = PricedRow<R> & { group: number }

/** Rows of all matches behind `after`, in the order of an answer by price. */
export function* byPrice<R extends PricedRows>(
  matches: readonly Match<R>[],
  { groups, per, max = Number.POSITIVE_INFINITY }: PriceOrder,
  after: PricePlace | null,
): Generator<FoundByPrice<R>, void> {
  const groupOf = groupsOf(groups)
  const asked = matches.map((match): Asked<R> => {
    return { match, per, max, numbers: match.rows.prices.groupNumbers(groupOf) }
  })
  for (let group = after?.group ?? 0; group < groups.length; group++) {
    const start = after?.group === group ? after : null
    for (const { rows, slot, key } of merged(asked.flatMap((one) => cursorsOf(one, group, start))))
      yield { rows, slot, key, group }
  }
  const unpriced = asked.map(withoutPrice).filter(({ count }) => count > 0)
  const isInside = after !== null && after.group >= groups.length
  const found = isInside ? olderThan(unpriced, placeOf(after)) : newestFirst(unpriced)
  for (const { rows, slot } of found) yield { rows, slot, key: 0, group: groups.length }
}

type Asked<R extends PricedRows> = AskedPrices & { match: Match<R> }

/** The first of several groups of a basis counts. */
export function groupsOf(groups: PriceOrder['groups']): Map<string, number> {
  const groupOf = new Map<string, number>()
  for (const [n, bases] of groups.entries())
    for (const basis of bases) if (!groupOf.has(basis)) groupOf.set(basis, n)
  return groupOf
}

const placeOf = ({ position, listingId }: PricePlace): Place => ({ createdAt: position, listingId })

function withoutPrice<R extends PricedRows>(asked: Asked<R>): Match<R> {
  const { rows, slots, count } = asked.match
  const left = slots.slice()
  rows.prices.clearPriced(left, asked)
  return { rows, slots: left, count }
}

function cursorsOf<R extends PricedRows>(
  asked: Asked<R>,
  group: number,
  start: PricePlace | null,
): Cursor<R>[] {
  const { match, numbers } = asked
  const bases = Array.from(numbers.keys()).filter((basis) => numbers[basis] === group)
  if (bases.length === 0) return []
  // A column is read over about size / count rows to the first match.
  if (match.count ** 2 <= match.rows.size) return [new SortedRows(asked, group, start)]
  return bases.map((basis) => new ColumnRows(asked, basis, start))
}

/** Negative where `a` comes first. */
function compareRows<R extends PricedRows>(a: PricedRow<R>, b: PricedRow<R>): number {
  return comparePriceKeys(a.key, b.key) || -comparePlaces(rowPlace(a), rowPlace(b))
}

const rowPlace = ({ rows, slot }: { rows: Rows; slot: number }): Place => ({
  createdAt: rows.createdAtOf(slot),
  listingId: rows.listingIdOf(slot),
})

type Cursor<R extends PricedRows> = PricedRow<R> & { advance: () => boolean }

function* merged<R extends PricedRows>(all: readonly Cursor<R>[]): Generator<PricedRow<R>, void> {
  /** The first row last. */
  const cursors = all.filter((cursor) => cursor.advance()).sort((a, b) => compareRows(b, a))
  for (let first = cursors.pop(); first !== undefined; first = cursors.pop()) {
    yield first
    if (!first.advance()) continue
    let low = 0
    let high = cursors.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (compareRows(cursors[middle]!, first) > 0) low = middle + 1
      else high = middle
    }
    cursors.splice(low, 0, first)
  }
}

/** Matches in one column, from a place on. */
class ColumnRows<R extends PricedRows> implements Cursor<R> {
  readonly rows: R
  slot = -1
  key: PriceKey = 0
  readonly #asked: Asked<R>
  readonly #basis: number
  #rank: number
  #at: number

  constructor(asked: Asked<R>, basis: number, start: PricePlace | null) {
    const { rows } = asked.match
    this.rows = rows
    this.#asked = asked
    this.#basis = basis
    const { keys, ends, slots } = rows.prices.data[asked.per].columns[basis]!
    this.#rank = start === null ? 0 : countBelow(keys, start.key, false)
    this.#at = endBelow(ends, this.#rank)
    if (start === null || this.#rank === keys.length || keys[this.#rank] !== start.key) return
    const older = firstNotOlder(rows, placeOf(start), 0, rows.size)
    while (this.#at < ends[this.#rank]! && slots[this.#at]! >= older) this.#at++
  }

  advance(): boolean {
    const { match, per, max } = this.#asked
    const { prices } = this.rows
    const { keys, ends, slots } = prices.data[per].columns[this.#basis]!
    for (; this.#at < slots.length; this.#at++) {
      const slot = slots[this.#at]!
      if (!hasBit(match.slots, slot)) continue
      while (ends[this.#rank]! <= this.#at) this.#rank++
      const key = keys[this.#rank]!
      if (key > max) return false
      if (!prices.isBest(slot, this.#basis, key, this.#asked)) continue
      this.slot = slot
      this.key = key
      this.#at++
      return true
    }
    return false
  }
}

/** The few matches in one group, sorted. */
class SortedRows<R extends PricedRows> implements Cursor<R> {
  readonly rows: R
  slot = -1
  key: PriceKey = 0
  readonly #found: PricedRow<R>[] = []
  #at = 0

  constructor(asked: Asked<R>, group: number, start: PricePlace | null) {
    const { rows, slots } = asked.match
    this.rows = rows
    const older = start === null ? 0 : firstNotOlder(rows, placeOf(start), 0, rows.size)
    forEachBit(slots, (slot) => {
      const key = rows.prices.keyIn(slot, group, asked)
      if (key === null) return
      if (start !== null && (key < start.key || (key === start.key && slot >= older))) return
      this.#found.push({ rows, slot, key })
    })
    this.#found.sort((a, b) => comparePriceKeys(a.key, b.key) || b.slot - a.slot)
  }

  advance(): boolean {
    const found = this.#found[this.#at++]
    if (found === undefined) return false
    this.slot = found.slot
    this.key = found.key
    return true
  }
}
