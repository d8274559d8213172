import { endOfMs, type Micros } from '../../../src/domain/timestamp.ts'
import type { Completeness, SourceState } from './ask.ts'
import type { History, Moment, Version } from './history.ts'
import {
  type Copy,
  groupCopies,
  isCompeting,
  isMatch,
  type Listing,
  mayBeOutlier,
  newestPlace,
  type Path,
  pathsOf,
  priceOf,
  type Question,
} from './model.ts'
import { INNER_FULL_SECONDS, type Plan } from './plan.ts'

/** What an answer is judged by. */
export type Evidence = { plan: Plan; history: History }

/** A copy that may have been held at some time that an answer may be made of; steady if it was held all that time. */
export type Candidate = Copy & { isSteady: boolean }

/** The time that an answer may be made of, and what was held then. */
export type Window = {
  question: Question
  history: History
  paths: readonly Path[]
  /** Before the oldest data that is shown of a path. */
  since: ReadonlyMap<Path, number>
  end: Moment
  listings: ReadonlyMap<string, Listing<Candidate>>
  byId: ReadonlyMap<string, readonly Listing<Candidate>[]>
  /** The paths on which a listing of a seller was held all the time, by address. */
  pathsOfSeller: ReadonlyMap<string, ReadonlySet<Path>>
  /** What is held of each path. */
  holdings: ReadonlyMap<Path, Holding>
  /** Sources that were held whole at no page. */
  lacking: ReadonlySet<string>
  low: Micros
  /** Later dates were of the future at its begin, or at its end, and come last. */
  caps: readonly [begin: Micros, end: Micros]
}

/** How far clocks of Registries may be ahead. */
const CLOCK_SKEW_MS = 120_000

/** Dates behind it are of the future at that time, in ms. */
export function capAt(ms: number): Micros {
  return endOfMs(ms + CLOCK_SKEW_MS)
}

/** All listings, the newest ones (at least so many), or what is not known. */
export type Holding = 'whole' | 'unknown' | number

/** How long a gateway behind another one may have had what it sent: the age of what is followed counts from the stream. */
const INNER_AGE_MS = (15_000 + 5 * INNER_FULL_SECONDS * 1000) * 1.1

export function windowOf(
  answers: readonly Completeness[],
  question: Question,
  { plan, history }: Evidence,
): Window {
  const paths = pathsOf(plan, question)
  const end = answers.at(-1)!.end
  const holdings = new Map(paths.map((path) => [path, holdingOf(answers, path)] as const))
  const since = new Map(
    paths.map((path) => [path, Math.min(...answers.map((one) => dataFrom(one, path)))] as const),
  )
  const copies = paths.flatMap((path) => {
    const from = since.get(path)!
    const there = history.versions.filter(
      (version) => version.registry === path.registry && overlaps(version, from, end),
    )
    const isHeld = heldAmong(there, holdings.get(path)!)
    return there
      .map((version) => ({ path, version }))
      .filter((copy) => isCompeting(question, copy))
      .map((copy) => ({
        ...copy,
        isSteady: isUnchanged(copy.version, from, end) && isHeld(copy.version) === true,
      }))
  })
  const listings = new Map(groupCopies(copies).map((listing) => [listing.key, listing]))
  const byId = Map.groupBy(listings.values(), ({ listingId }) => listingId)
  const named = copies.filter(({ isSteady, version }) => isSteady && isNamed(version))
  const bySeller = Map.groupBy(named, ({ version }) => version.publisher.address)
  const pathsOfSeller = new Map(
    [...bySeller].map(([address, sold]) => [address, new Set(sold.map(({ path }) => path))]),
  )
  const isLacking = (one: Completeness, source: string): boolean =>
    one.sources.some(({ registry, state }) => registry === source && !USABLE.includes(state))
  const lacking = new Set(
    paths.flatMap(({ source }) => (answers.every((one) => isLacking(one, source)) ? source : [])),
  )
  const low = Math.min(...since.values()) * 1000
  const caps = [capAt(answers[0]!.begin.at), capAt(end.at)] as const
  return {
    question,
    history,
    paths,
    since,
    end,
    listings,
    byId,
    pathsOfSeller,
    holdings,
    lacking,
    low,
    caps,
  }
}

export const USABLE: readonly string[] = ['loaded', 'stale']
export const IN_PART: readonly string[] = ['loading', 'partial']

/** Longer than anything is kept of a source that is away. */
const MAX_STALE_MS = 86_400_000

function holdingOf(answers: readonly Completeness[], path: Path): Holding {
  const lacking = answers.flatMap((one) => statesOf(one, path)).filter(({ state }) => !USABLE.includes(state))
  if (lacking.length === 0) return 'whole'
  // Of a part of a gateway, or behind one, the own rows are not known.
  const isCounted = !path.isBehind && lacking.every(({ state }) => IN_PART.includes(state))
  return isCounted ? Math.min(...lacking.map(({ held = 0 }) => held)) : 'unknown'
}

/**
 * Which of the open listings that a Registry had are held: yes, no, or `null` where that depends on when it was read. The newest ones
 * are, and listings of one instant come in any order.
 */
export function heldAmong(
  versions: readonly Version[],
  holding: Holding,
): (version: Version) => boolean | null {
  if (holding === 'whole') return () => true
  if (holding === 'unknown') return () => null
  const dates = versions
    .filter(({ status, odd }) => status === 'open' && odd === undefined)
    .map(({ createdAt }) => createdAt)
  return ({ createdAt }) => {
    if (dates.filter((date) => date >= createdAt).length <= holding) return true
    return dates.filter((date) => date > createdAt).length >= holding ? false : null
  }
}

/** What is held where nothing changes; `null` where that depends on when it was read. */
export function heldNow({ paths, holdings, history }: Window): Copy[] | null {
  const copies = paths.flatMap((path) => {
    const versions = history.versions.filter(
      ({ registry, until }) => registry === path.registry && until === null,
    )
    const isHeld = heldAmong(versions, holdings.get(path)!)
    return versions.map((version) => ({ path, version, isHeld: isHeld(version) }))
  })
  return copies.some(({ isHeld }) => isHeld === null) ? null : copies.filter(({ isHeld }) => isHeld)
}

/** Whether a better source is not held whole, and might have a listing that this one shows. */
export function mayBeDecided({ paths, holdings }: Window, { rank }: Path): boolean {
  return paths.some((better) => better.rank < rank && holdings.get(better) !== 'whole')
}

/** What an answer says about the source, about the Registry behind a gateway, and about a directory that it needs. */
export function statesOf({ sources }: Completeness, { source, shownAs }: Path): SourceState[] {
  const names = [source, shownAs, `${source}/publishers`, `${shownAs}/publishers`]
  return sources.filter(({ registry }) => names.includes(registry))
}

/** Before the oldest data of an answer, by the age that it states. */
function dataFrom(answer: Completeness, path: Path): number {
  const { begin, sources } = answer
  const { state, age_seconds: age = 0 } = sources.find(({ registry }) => registry === path.source)!
  const isMissed = sources.some(({ registry }) => path.isBehind && registry === path.shownAs)
  if (state === 'unavailable' || isMissed) return begin.at - MAX_STALE_MS
  return begin.at - (age + 1) * 1000 - (path.isBehind ? INNER_AGE_MS : 0)
}

export function overlaps({ since, until }: Version, from: number, end: Moment): boolean {
  return since.change <= end.change && (until === null || until.at >= from)
}

export function isUnchanged({ since, until }: Version, from: number, end: Moment): boolean {
  return since.at <= from && (until === null || until.change > end.change)
}

/** The copy by which a listing has to be shown: the only one of the best source that had any, and it matches. */
export function requiredCopy(window: Window, { copies }: Listing<Candidate>): Copy | null {
  const [best, second] = copies
  if (second?.path === best!.path || !best!.isSteady || mayBeHidden(window, best!)) return null
  return isMatch(window.question, best!) ? best! : null
}

/**
 * Whether a better source had a listing of this id and storefront whose publisher it had just met: while neither address is
 * known, that copy hides this one.
 */
function mayBeHidden({ history, paths, low, end }: Window, { path, version }: Copy): boolean {
  const { listingId, publisher } = version
  const isUnnamed = (other: Version): boolean =>
    other.publisher.storefrontUrl === publisher.storefrontUrl &&
    overlaps(other, low / 1000, end) &&
    !isUnchanged(other, low / 1000, end)
  return (
    !isNamed(version) &&
    paths.some(({ rank, registry }) => rank < path.rank && history.of(registry, listingId).some(isUnnamed))
  )
}

/** Whether the Registry names the publisher. */
export function isNamed({ key, publisher }: Version): boolean {
  return key.startsWith(publisher.address)
}

/** Whether the answer may show a copy: none but the best that was held all the time, or a better one. */
export function mayBeShown({ question }: Window, { copies }: Listing<Candidate>): boolean {
  const best = copies.findIndex(({ isSteady }) => isSteady)
  return copies.some((copy, n) => isMatch(question, copy) && (best === -1 || n <= best))
}

/** Where a copy is in the order: between these, the first lower. By price, ties have one place, and outliers the last. */
export function placesOf(
  { question, caps }: Window,
  { createdAt, terms }: Version,
): [first: number, last: number] {
  const price = priceOf(terms) ?? Number.POSITIVE_INFINITY
  if (question.isByPrice) return [price, mayBeOutlier(terms) ? Number.POSITIVE_INFINITY : price]
  const [one, other] = caps.map((cap) => newestPlace(createdAt, cap))
  return [Math.min(one!, other!), Math.max(one!, other!)]
}
