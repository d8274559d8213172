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
  type Path,
  pathsOf,
  priceOf,
  type Question,
} from './model.ts'
import type { Plan } from './plan.ts'

/** Longest that a gateway shows data without asking again: fresh with its jitter, and stale while it revalidates. */
export const MAX_LIVE_AGE_MS = 15_000 * 1.1 + 60_000

/** What an answer is judged by. */
export type Evidence = { plan: Plan; history: History }

/** A copy that was there at some time that an answer may be made of; steady if it was there all that time. */
export type Candidate = Copy & { isSteady: boolean }

/** The time that an answer may be made of, and what was there then. */
export type Window = {
  question: Question
  history: History
  paths: readonly Path[]
  /** Before the oldest data that is shown of a path. */
  since: ReadonlyMap<Path, number>
  end: Moment
  listings: ReadonlyMap<string, Listing<Candidate>>
  /** Their sources could not answer. */
  unusable: ReadonlySet<Path>
  /** Registries that answer 500 to pages with one odd listing: reading them whole may fail. */
  searched: ReadonlySet<string>
  /** Listings of each Registry in that time, of any status. */
  sizes: ReadonlyMap<string, number>
  /** Sources with less are read whole. */
  scanLimit: number
  /**
   * Dates of the future count as the moment of reading, here or in the inner gateway: between `low` and `high`. What is
   * published while the answer is read may count as its begin.
   */
  low: Micros
  begin: Micros
  high: Micros
}

export function windowOf(
  answers: readonly Completeness[],
  question: Question,
  { plan, history }: Evidence,
): Window {
  const paths = pathsOf(plan, question)
  const end = answers.at(-1)!.end
  const since = new Map(
    paths.map((path) => [path, Math.min(...answers.map((one) => dataFrom(one, path)))] as const),
  )
  // What a live source decides about copies of others may be older than what is shown of it.
  const decidesSince = (path: Path): number =>
    since.get(path)! - (paths.length === 1 || path.isHeld ? 0 : decidingAgeMs(answers, path))
  const isUnusable = (path: Path): boolean =>
    answers.some((one) => statesOf(one, path).some(({ state }) => !USABLE.includes(state)))
  const copies = paths.flatMap((path) => {
    const from = decidesSince(path)
    return history.versions
      .filter(({ registry }) => registry === path.registry)
      .filter((version) => isCompeting(question, { version, path }) && overlaps(version, from, end))
      .map((version) => ({ path, version, isSteady: isUnchanged(version, from, end) }))
  })
  const listings = new Map(groupCopies(copies).map((listing) => [listing.key, listing]))
  const low = Math.min(...paths.map(decidesSince)) * 1000
  const unusable = new Set(paths.filter(isUnusable))
  const present = Map.groupBy(
    history.versions.filter((version) => overlaps(version, low / 1000, end)),
    ({ registry }) => registry,
  )
  const searched = new Set(plan.registries.flatMap(({ name, odd }) => (odd.isFailing ? name : [])))
  const sizes = new Map(paths.map(({ registry }) => [registry, present.get(registry)?.length ?? 0]))
  const scanLimit = plan.scanLimit ?? Number.POSITIVE_INFINITY
  const [begin, high] = [answers[0]!.begin.at * 1000, endOfMs(end.at)]
  return {
    question,
    history,
    paths,
    since,
    end,
    listings,
    unusable,
    searched,
    sizes,
    scanLimit,
    low,
    begin,
    high,
  }
}

export const USABLE: readonly string[] = ['loaded', 'stale']

/** Longer than anything is kept of a source that is away. */
const MAX_STALE_MS = 86_400_000

function decidingAgeMs(answers: readonly Completeness[], path: Path): number {
  const isStale = answers.some((one) => statesOf(one, path).some(({ state }) => state !== 'loaded'))
  return isStale ? MAX_STALE_MS : MAX_LIVE_AGE_MS
}

/** What an answer says about the source, and about the Registry behind a gateway. */
function statesOf({ sources }: Completeness, { source, shownAs }: Path): SourceState[] {
  return sources.filter(({ registry }) => registry === source || registry === shownAs)
}

/** Before the oldest data of an answer, by the age that it states. */
function dataFrom({ begin, sources }: Completeness, { source, isBehind }: Path): number {
  const { state, age_seconds: age = 0 } = sources.find(({ registry }) => registry === source)!
  // It failed after a part of a stream was sent.
  if (!USABLE.includes(state)) return begin.at - MAX_STALE_MS
  return begin.at - (age + 1) * 1000 - (isBehind ? MAX_LIVE_AGE_MS : 0)
}

export function overlaps({ since, until }: Version, from: number, end: Moment): boolean {
  return since.change <= end.change && (until === null || until.at >= from)
}

export function isUnchanged({ since, until }: Version, from: number, end: Moment): boolean {
  return since.at <= from && (until === null || until.change > end.change)
}

/** The copy by which a listing has to be shown: the only one of the best source that had any, and it matches. */
export function requiredCopy(window: Window, { copies }: Listing<Candidate>): Copy | null {
  const { question, since, end, unusable } = window
  const [best, second] = copies
  if (second?.path === best!.path || unusable.has(best!.path)) return null
  const { path, version } = best!
  if (mayBeHidden(window, best!)) return null
  return isUnchanged(version, since.get(path)!, end) && isMatch(question, version) ? best! : null
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

/** How often a listing may be counted: once, or by each Registry that matched where copies have changed. */
export function mostShown({ question, unusable }: Window, { copies }: Listing<Candidate>): number {
  const best = copies.findIndex(({ isSteady, path }) => isSteady && !unusable.has(path))
  const isCounted = ({ isSteady }: Candidate, n: number): boolean => !isSteady || best === -1 || n <= best
  const shown = copies.filter((copy, n) => isMatch(question, copy.version) && isCounted(copy, n))
  const registries = new Set(shown.map(({ path }) => path)).size
  return copies.every(({ isSteady }) => isSteady) ? Math.min(registries, 1) : registries
}

/** Where a copy is in the order: between these, the first lower. By price, ties have one place, and outliers the last. */
export function placesOf(
  { question, low, begin, high }: Window,
  { createdAt, terms, since }: Version,
): [first: number, last: number] {
  const price = priceOf(terms) ?? Number.POSITIVE_INFINITY
  if (question.isByPrice) return [price, mayBeOutlier(terms) ? Number.POSITIVE_INFINITY : price]
  const isFuture = createdAt > endOfMs(since.at)
  return [-Math.min(createdAt, high), -Math.min(createdAt, isFuture ? low : begin)]
}

/** Whether a gateway has to know of a copy: one that was there all the time, in memory. */
export function isKnown({ unusable }: Window, { isSteady, path }: Candidate): boolean {
  return isSteady && path.isHeld && !unusable.has(path)
}

/** Whether a source did not answer, or is too large to be read whole. */
export function isDoubtful(window: Window, path: Path): boolean {
  const { unusable, searched, paths, sizes, scanLimit } = window
  if (unusable.has(path) || (!path.isHeld && searched.has(path.registry))) return true
  const behind = paths.filter(({ isBehind, source }) => isBehind && source === path.source)
  const size = (path.isBehind ? behind : [path]).reduce((sum, { registry }) => sum + sizes.get(registry)!, 0)
  return !path.isHeld && size > scanLimit
}
