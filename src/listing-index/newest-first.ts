import type { Micros } from '../domain/timestamp.ts'
import { firstFrom } from './binary-search.ts'
import { type Bitset, countBetween, highestBelow } from './bitset.ts'
import { comparePlaces, type Place, type Segment } from './segment.ts'

/** Some rows of a segment. `hidden`: more rows, which match and are left out. */
export type Match = { rows: Segment; slots: Bitset; count: number; hidden?: Bitset }

type Found = { readonly rows: Segment; readonly slot: number }

/** The rows of a match in `[from, to)`. */
type Window = { match: Match; from: number; to: number }

/**
 * Rows of all matches, whose stretches of time may overlap, newest first and without the first `skip`. Those that are newer
 * than `cap`, which is about now, come last.
 */
export function* newestFirst(matches: readonly Match[], skip = 0, cap = NO_CAP): Generator<Found, void> {
  const { past, future } = divided(matches, cap)
  const inPast = future.length === 0 || skip === 0 ? skip + 1 : countIn(past)
  if (skip < inPast) yield* walk(past, skip)
  if (future.length > 0) yield* walk(future, Math.max(0, skip - inPast))
}

/** Those behind `place`. */
export function* olderThan(matches: readonly Match[], place: Place, cap = NO_CAP): Generator<Found, void> {
  const { past, future } = divided(matches, cap)
  const before = ({ match, from, to }: Window): Window => {
    return { match, from, to: firstNotOlder(match.rows, place, from, to) }
  }
  if (place.position > cap) yield* walk(future.map(before), 0)
  else {
    yield* walk(past.map(before), 0)
    yield* walk(future, 0)
  }
}

export type First = 'oldest' | 'newest'

/** Live rows of some lanes. */
export function* byAge(
  segments: readonly Segment[],
  isIn: (lane: number) => boolean,
  first: First,
): Generator<Found, void> {
  const step = first === 'oldest' ? 1 : -1
  const parts = segments.filter((rows) => rows.countByLane.keys().some(isIn))
  yield* merged(
    parts.map((rows) => liveRows(rows, isIn, step)),
    (a, b) => -step * compareRows(a, b),
  )
}

function* liveRows(rows: Segment, isIn: (lane: number) => boolean, step: 1 | -1): Generator<Found, void> {
  for (let slot = step === 1 ? 0 : rows.size - 1; slot >= 0 && slot < rows.size; slot += step)
    if (isIn(rows.laneOf(slot)) && rows.isLive(slot)) yield { rows, slot }
}

const NO_CAP = Number.POSITIVE_INFINITY

function divided(matches: readonly Match[], cap: Micros): { past: Window[]; future: Window[] } {
  const past: Window[] = []
  const future: Window[] = []
  for (const match of matches) {
    const { rows } = match
    const { size } = rows
    const end = rows.newest <= cap ? size : firstFrom(0, size, (slot) => rows.positionOf(slot) > cap)
    past.push({ match, from: 0, to: end })
    if (end < size) future.push({ match, from: end, to: size })
  }
  return { past, future }
}

function countIn(windows: readonly Window[]): number {
  return windows.reduce((sum, { match, from, to }) => sum + countBetween(match.slots, from, to), 0)
}

function* walk(windows: readonly Window[], skip: number): Generator<Found, void> {
  const { ends, rest } =
    skip === 0 ? { ends: windows.map(({ to }) => to), rest: 0 } : skipNewest(windows, skip)
  /** The next row of each window, the newest one last. */
  const heads = windows
    .map(({ match: { rows, slots }, from }, n) => ({
      rows,
      slots,
      from,
      slot: highestBelow(slots, ends[n]!),
    }))
    .filter(({ slot, from }) => slot >= from)
    .sort(compareRows)
  let left = rest
  for (let first = heads.pop(); first !== undefined; first = heads.pop()) {
    const { rows, slots, from, slot } = first
    if (left-- <= 0) yield { rows, slot }
    first.slot = highestBelow(slots, slot)
    if (first.slot >= from) insert(heads, first, compareRows)
  }
}

/** All that sorted parts give, of which a greater one comes first. */
export function* merged<T>(
  parts: readonly Generator<T, void>[],
  compare: (a: T, b: T) => number,
): Generator<T, void> {
  /** The next one of each part, the first one last. */
  const heads: { one: T; rest: Generator<T, void> }[] = []
  for (const rest of parts) {
    const { done, value } = rest.next()
    if (done !== true) heads.push({ one: value, rest })
  }
  heads.sort((a, b) => compare(a.one, b.one))
  for (let first = heads.pop(); first !== undefined; first = heads.pop()) {
    yield first.one
    if (heads.length === 0) return yield* first.rest
    const { done, value } = first.rest.next()
    if (done === true) continue
    first.one = value
    insert(heads, first, (a, b) => compare(a.one, b.one))
  }
}

/** Into a sorted array, before those that are greater: mostly at its end. */
function insert<T>(sorted: T[], one: T, compare: (a: T, b: T) => number): void {
  let at = sorted.length
  while (at > 0 && compare(sorted[at - 1]!, one) > 0) at--
  if (at === sorted.length) sorted.push(one)
  else sorted.splice(at, 0, one)
}

const compareRows = (a: Found, b: Found): number =>
  a.rows.positionOf(a.slot) - b.rows.positionOf(b.slot) ||
  comparePlaces(a.rows.placeAt(a.slot), b.rows.placeAt(b.slot))

/**
 * Where the first `skip` end in each match, but for `rest` of them. Each step cuts a window of every match at the
 * place in the middle of one, and goes on with the newer or the older parts.
 */
function skipNewest(windows: readonly Window[], skip: number): { ends: number[]; rest: number } {
  const matches = windows.map(({ match }) => match)
  let lows = windows.map(({ from }) => from)
  let highs = windows.map(({ to }) => to)
  let counts = windows.map(({ match, from, to }) =>
    from === 0 && to === match.rows.size ? match.count : countBetween(match.slots, from, to),
  )
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
    const position = rows.positionOf(slot)
    return position === place.position
      ? comparePlaces(rows.placeAt(slot), place) >= 0
      : position > place.position
  })
}
