import type { Scalar } from '../filter-spec/criteria.ts'
import { type Bitset, bitset, hasBit, setBit } from './bitset.ts'
import type { Conditions } from './match.ts'
import { comparePlaces, type Match, type Place, type Rows } from './newest-first.ts'
import { PriceColumns } from './price-columns.ts'
import { PriceColumnsBuilder } from './price-columns-builder.ts'
import { passesFound } from './row-conditions.ts'
import { isWithin } from './row-prices.ts'
import type { FoundValues } from './scan/row-scanner.ts'
import type { IndexEntry } from './segment.ts'
import { type Text, viewOf } from './text-store.ts'

type TailRow = Omit<IndexEntry, 'bytes'> & { text: Text; found: FoundValues }

/** The latest rows, until they are sealed. They are few, and a query evaluates each. */
export class Tail implements Rows {
  /** Oldest first. */
  readonly rows: TailRow[] = []
  readonly #byId = new Map<string, TailRow>()
  #prices: PriceColumns | null = null
  /** Of all rows. */
  values = 0

  get size(): number {
    return this.rows.length
  }

  /** The listing must not be here. */
  add({ bytes: _, ...head }: IndexEntry, text: Text, found: FoundValues): void {
    const row = { ...head, text, found: found.copy() }
    this.rows.splice(this.#countOlder(row), 0, row)
    this.#byId.set(row.listingId, row)
    this.#prices = null
    this.values += found.count
  }

  remove(listingId: string): void {
    const row = this.#byId.get(listingId)!
    this.rows.splice(this.#countOlder(row), 1)
    this.values -= row.found.count
    this.#byId.delete(listingId)
    this.#prices = null
  }

  clear(): void {
    this.rows.length = 0
    this.values = 0
    this.#byId.clear()
    this.#prices = null
  }

  get(listingId: string): IndexEntry {
    return entryOf(this.#byId.get(listingId)!)
  }

  entry(slot: number): IndexEntry {
    return entryOf(this.rows[slot]!)
  }

  createdAtOf(slot: number): number {
    return this.rows[slot]!.createdAt
  }

  listingIdOf(slot: number): string {
    return this.rows[slot]!.listingId
  }

  match({ status, publisherId, criteria, priceLimit }: Conditions): Match<Tail> {
    const slots = bitset(this.size)
    let count = 0
    for (const [slot, row] of this.rows.entries()) {
      if (status !== null && row.status !== status) continue
      if (publisherId !== null && row.publisherId !== publisherId) continue
      if (!criteria.every(({ criterion, column }) => passesFound(criterion, column, row.found))) continue
      if (priceLimit !== undefined && !isWithin(row.found.prices, priceLimit)) continue
      setBit(slots, slot)
      count++
    }
    return { rows: this, slots, count }
  }

  /** Of this moment. */
  get prices(): PriceColumns {
    if (this.#prices !== null) return this.#prices
    const builder = new PriceColumnsBuilder(this.size)
    for (const [slot, { found }] of this.rows.entries()) builder.add(slot, found.prices)
    this.#prices = new PriceColumns(lastOf(builder.finish(this.size)))
    return this.#prices
  }

  /** As a segment's. */
  countValues(column: number, matches: Bitset, add: (value: Scalar, count: number) => void): number {
    let present = 0
    for (const [slot, { found }] of this.rows.entries()) {
      if (!hasBit(matches, slot)) continue
      const own = new Set(found.values.filter((_, n) => found.paths[n] === column))
      if (own.size > 0) present++
      for (const value of own)
        if (value !== null && (typeof value === 'string' || !own.has(String(value)))) add(value, 1)
    }
    return present
  }

  /** At most. */
  distinctIn(_column: number): number {
    return this.values
  }

  #countOlder(place: Place): number {
    let at = this.size
    while (at > 0 && comparePlaces(this.rows[at - 1]!, place) >= 0) at--
    return at
  }
}

const entryOf = ({ listingId, publisherId, createdAt, status, text }: TailRow): IndexEntry => ({
  listingId,
  publisherId,
  createdAt,
  bytes: viewOf(text),
  status,
})

/** Takes all steps at once. */
export function lastOf<T>(steps: Generator<unknown, T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}
