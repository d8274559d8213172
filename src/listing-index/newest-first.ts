import type { Micros } from '../domain/timestamp.ts'
import { firstFrom } from './binary-search.ts'
import { type Bitset, countBetween, highestBelow } from './bitset.ts'
import { comparePlaces, type Place, type Segment } from './segment.ts'

/** Some rows of a segment. `hidden`: how many more match, and are left out. */
export type Match = { rows: Segment; slots: Bitset; count: number; hidden: number }

/** A row; valid until the next one is taken. */
type Found = { readonly rows: Segment; readonly slot: number }

/** Rows of all matches, whose stretches of time may overlap, newest first and without the first `skip`. */
export function newestFirst(matches: readonly Match[], skip = 0): IteratorObject<Found, void> {
  const { ends, rest } = skipNewest(matches, skip)
  return rest === 0 ? below(matches, ends) : below(matches, ends).drop(rest)
}

/** Those older than `place`. */
export function olderThan(matches: readonly Match[], place: Place): IteratorObject<Found, void> {
  return below(
    matches,
    matches.map(({ rows }) => firstNotOlder(rows, place, 0, rows.size)),
  )
}

function below(matches: readonly Match[], ends: readonly number[]): IteratorObject<Found, void> {
  return merged(
    matches.map((match, n) => new Cursor(match, ends[n]!)),
    compareCursors,
  )
}

/** All that sorted cursors give. A greater one comes first; `advance` is `false` at its end. */
export function* merged<C extends { advance: () => boolean }>(
  all: readonly C[],
  compare: (a: C, b: C) => number,
): Generator<C, void> {
  /** The first one last. */
  const cursors = all.filter((cursor) => cursor.advance()).sort(compare)
  for (let first = cursors.pop(); first !== undefined; first = cursors.pop()) {
    yield first
    if (!first.advance()) continue
    let at = cursors.length
    while (at > 0 && compare(cursors[at - 1]!, first) > 0) at--
    if (at === cursors.length) cursors.push(first)
    else cursors.splice(at, 0, first)
  }
}

class Cursor {
  readonly rows: Segment
  slot: number
  createdAt: Micros = 0
  readonly #slots: Bitset

  constructor({ rows, slots }: Match, end: number) {
    this.rows = rows
    this.#slots = slots
    this.slot = end
  }

  advance(): boolean {
    this.slot = highestBelow(this.#slots, this.slot)
    if (this.slot === -1) return false
    this.createdAt = this.rows.createdAtOf(this.slot)
    return true
  }

  get listingId(): string {
    return this.rows.listingIdOf(this.slot)
  }
}

const compareCursors = (a: Cursor, b: Cursor): number =>
  a.createdAt === b.createdAt ? comparePlaces(a, b) : a.createdAt - b.createdAt

/**
 * Where the first `skip` end in each match, but for `rest` of them. Each step cuts a window of every match at the
 * place in the middle of one, and goes on with the newer or the older parts.
 */
function skipNewest(matches: readonly Match[], skip: number): { ends: number[]; rest: number } {
  let lows = matches.map(() => 0)
  let highs = matches.map(({ rows }) => rows.size)
  let counts = matches.map(({ count }) => count)
  let rest = skip
  while (rest > FEW) {
    const pivot = middlePlace(matches, lows, highs)
    if (pivot === null) break
    const cuts = matches.map(({ rows }, n) => firstNotOlder(rows, pivot, lows[n]!, highs[n]!))
    const newer = matches.map(({ slots }, n) =>
      cuts[n] === lows[n] ? counts[n]! : countBetween(slots, cuts[n]!, highs[n]!),
    )
    const newerCount = newer.reduce((sum, count) => sum + count, 0)
    if (newerCount <= rest) {
      rest -= newerCount
      counts = counts.map((count, n) => count - newer[n]!)
      highs = cuts
    } else {
      if (cuts.every((cut, n) => cut === lows[n])) break
      counts = newer
      lows = cuts
    }
  }
  return { ends: highs, rest }
}

/** So few are skipped one by one. */
const FEW = 32

/** In the middle of the window that holds the middle of all windows. */
function middlePlace(
  matches: readonly Match[],
  lows: readonly number[],
  highs: readonly number[],
): Place | null {
  let before = highs.reduce((sum, high, n) => sum + high - lows[n]!, 0) / 2
  for (const [n, { rows }] of matches.entries()) {
    before -= highs[n]! - lows[n]!
    if (before < 0) return rows.placeAt((lows[n]! + highs[n]!) >> 1)
  }
  return null
}

export function firstNotOlder(rows: Segment, place: Place, from: number, to: number): number {
  return firstFrom(from, to, (slot) => {
    const createdAt = rows.createdAtOf(slot)
    return createdAt === place.createdAt
      ? comparePlaces(rows.placeAt(slot), place) >= 0
      : createdAt > place.createdAt
  })
}
