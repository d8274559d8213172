import type { Micros } from '../../domain/timestamp.ts'
import { type Moment, type Place, type Put, placeOf, type Row } from '../rows.ts'

const MAX_AGE_MS = 1000
/** After a write they may be a batch more. */
const MAX_ROWS = 1000

/** Rows that this process has read or written at the latest commit that it knows: a write that needs no others asks Redis once. */
export class RecentRows {
  readonly #rows = new Map<Place, Row | null>()
  #end: Micros = 0
  /** Of the latest read. */
  #now: Micros = 0
  #readAt = Number.NEGATIVE_INFINITY

  get(places: readonly Place[]): Moment | null {
    const ageMs = performance.now() - this.#readAt
    if (ageMs > MAX_AGE_MS || !places.every((place) => this.#rows.has(place))) return null
    const now = Math.max(this.#now + Math.floor(ageMs * 1000), this.#end + 1)
    return { rows: places.map((place) => this.#rows.get(place)!), now, end: this.#end, isEarlier: true }
  }

  read(places: readonly Place[], { rows, now, end }: Moment): void {
    if (end !== this.#end || this.#rows.size > MAX_ROWS) this.forget()
    this.#end = end
    this.#now = now
    this.#readAt = performance.now()
    for (const [n, place] of places.entries()) this.#rows.set(place, rows[n]!)
  }

  /** Nothing else was committed since `end`. */
  committed(end: Micros, puts: readonly Put[]): void {
    const latest = Math.max(...puts.map(({ at }) => at))
    if (this.#end !== end && this.#end !== latest) return
    this.#end = latest
    if (this.#rows.size > MAX_ROWS) this.forget()
    for (const { value, ...put } of puts)
      this.#rows.set(placeOf(put.space, put.key), value === null ? null : { ...put, value })
  }

  forget(): void {
    this.#rows.clear()
  }
}
