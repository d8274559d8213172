import type { Answer, Completeness, FoundOne, SourceState } from './ask.ts'
import { judgeExactly } from './exactly.ts'
import { type FoundCounts, judgeCountsOf } from './facets.ts'
import { findHeld, type Held, judgeItem } from './items.ts'
import { type Path, pathsOf, type Question } from './model.ts'
import { INNER, type Plan } from './plan.ts'
import { judgeCounts, judgeMissing, judgeOrder, judgeRepeats } from './sequence.ts'
import {
  type Evidence,
  isUnchanged,
  MAX_LIVE_AGE_MS,
  overlaps,
  requiredCopy,
  USABLE,
  type Window,
  windowOf,
} from './window.ts'
import { ANY_LISTING } from './world.ts'

/** What was wrong with an answer, and how much was checked. */
export type Verdict = {
  faults: readonly string[]
  /** Listings that had to be shown. */
  required: number
  /** Whether nothing changed, so that the whole answer was compared with the model. */
  isExact: boolean
}

/** A snapshot that is older is stale. */
const STALE_SNAPSHOT_MS = 30_000

/**
 * Judges an answer of several pages: every listing that its best source held unchanged since before the oldest data of the
 * answer until its end is shown; nothing is shown that was not there within that time, and no copy of which a better
 * source had one; the order is that of the copies that are shown; no source is missing. Where nothing changed, the
 * sequence is exactly that of the model.
 */
export function judge(answer: Answer, { plan, history }: Evidence): Verdict {
  const { pages, question } = answer
  const paths = pathsOf(plan, question)
  if (pages.some((page) => isWithoutPublisher(question, page))) return verdictOf(answer, [])
  const unhealthy = pages.flatMap((page) => judgeSources(page, paths, plan))
  if (unhealthy.length > 0) return verdictOf(answer, unhealthy)
  const window = windowOf(pages, question, { plan, history })
  const found = pages.map(({ items }) => findHeld(window, items))
  const foreign = found.flatMap(({ faults }) => faults)
  if (foreign.length > 0) return verdictOf(answer, foreign)
  const faults = judgeSequence(
    window,
    answer,
    plan,
    found.map(({ held }) => held),
    found.flatMap(({ nameless }) => nameless),
  )
  const isExact = faults.length === 0 && isCalm(window)
  if (isExact)
    faults.push(
      ...judgeExactly(
        window,
        answer,
        found.flatMap(({ held }) => held),
      ),
    )
  return verdictOf(answer, faults, window, isExact)
}

function judgeSequence(
  window: Window,
  answer: Answer,
  plan: Plan,
  pages: readonly (readonly Held[])[],
  nameless: readonly Held[],
): string[] {
  const hasOdd = plan.registries.some(({ odd }) => odd.oversized > 0 || odd.isFailing)
  // An item of a publisher just met is another listing.
  const isUncountable = hasOdd || nameless.length > 0
  return [
    ...pages.flat().flatMap((held) => judgeItem(window, held)),
    ...judgeOrder(window, answer, pages),
    ...judgeRepeats(window, answer, pages),
    ...judgeMissing(window, answer, pages, nameless),
    ...judgeCounts(window, answer, isUncountable),
  ]
}

/** Whether every source answered, and no listing changed since before the oldest data. */
function isCalm({ history, low, unusable }: Window): boolean {
  return history.lastChange.at * 1000 <= low && unusable.size === 0
}

function verdictOf(
  { asked }: { asked: string },
  faults: readonly string[],
  window: Window | null = null,
  isExact = false,
): Verdict {
  const listings = window === null ? [] : [...window.listings.values()]
  return {
    faults: faults.map((fault) => `${asked}: ${fault}`),
    required: listings.filter((listing) => requiredCopy(window!, listing) !== null).length,
    isExact,
  }
}

/** Judges the answer to `GET /facets`. */
export function judgeFacets(found: FoundCounts, { plan, history }: Evidence): Verdict {
  const { question } = found
  const paths = pathsOf(plan, question)
  if (isWithoutPublisher(question, found)) return verdictOf(found, [])
  const unhealthy = judgeSources(found, paths, plan)
  if (unhealthy.length > 0) return verdictOf(found, unhealthy)
  const window = windowOf([found], question, { plan, history })
  const isExact = isCalm(window)
  return verdictOf(found, judgeCountsOf(window, found, isExact), window, isExact)
}

/** Judges the answer to `GET /listings/{id}`: the best copy, whatever its status. */
export function judgeOne(found: FoundOne, { plan, history }: Evidence): Verdict {
  const { listingId, shown, ageMs, begin, end, complete } = found
  const fault = (text: string): Verdict => verdictOf(found, [text])
  if (!complete && plan.failing === null) return fault('a better source counts as missing')
  const copies = pathsOf(plan, ANY_LISTING).flatMap((path) => {
    const since = begin.at - Math.max(ageMs, MAX_LIVE_AGE_MS * (path.isBehind ? 2 : 1)) - 1000
    return history
      .of(path.registry, listingId)
      .filter((version) => version.odd === undefined && overlaps(version, since, end))
      .map((version) => ({ path, version, isSteady: isUnchanged(version, since, end) }))
  })
  const steady = copies.filter(({ isSteady }) => isSteady)
  if (shown === null)
    return steady.length > 0 && complete
      ? fault(`404, but ${steady[0]!.path.shownAs} has it`)
      : verdictOf(found, [])
  const held = copies.filter(
    ({ path, version }) => path.shownAs === shown.registry && version.text === shown.text,
  )
  if (held.length === 0) return fault(`shows what ${shown.registry} did not hold: ${shown.text}`)
  const rank = Math.min(...held.map(({ path }) => path.rank))
  const better = complete ? steady.find(({ path }) => path.rank < rank) : undefined
  if (better !== undefined) return fault(`shows ${shown.registry}, but ${better.path.shownAs} is better`)
  return verdictOf(found, [])
}

/** A Registry is skipped for a moment where the publisher that is asked for is new there. */
function isWithoutPublisher({ publisher }: Question, { sources, complete }: Completeness): boolean {
  const isSkipped = ({ state, filters }: SourceState) =>
    state === 'skipped' && String(filters) === 'publisher'
  return publisher !== null && !complete && sources.some(isSkipped)
}

/** Every source is loaded, but for those that may be away or too large; a snapshot may be stale by its age. */
function judgeSources(
  { begin, end, sources, complete }: Completeness,
  paths: readonly Path[],
  plan: Plan,
): string[] {
  const names = [...new Set(paths.map(({ source }) => source))]
  const asked = sources.filter(({ registry }) => names.includes(registry))
  const faults = sources
    .filter((source) => !isHealthy(source, paths, end.at - begin.at) && !isExcused(source, sources, plan))
    .map((source) => JSON.stringify(source))
  if (!complete && sources.every(({ state }) => USABLE.includes(state))) faults.push('complete is false')
  if (names.length !== asked.length) faults.push(`sources are ${sources.map(({ registry }) => registry)}`)
  return faults
}

/** A gateway has no answer where it skips all that it reads. */
function isExcused(source: SourceState, sources: readonly SourceState[], plan: Plan): boolean {
  const { registry, reason } = source
  if (registry === plan.failing || isTooLarge(source, plan)) return true
  // Tens of requests search for the listing that fails: changes among them look like missing ones, or time is up.
  const isSearched = plan.registries.some(({ name, odd }) => name === registry && odd.isFailing)
  if (isSearched && (reason === 'unstable' || reason === 'http_500')) return true
  const behind = sources.filter((other) => other.registry.startsWith(`${registry}/`))
  const isWithoutSource = behind.length > 0 && behind.every((other) => isTooLarge(other, plan))
  // The inner gateway had not answered whole when it was pulled first.
  if (registry === INNER && source.state === 'not_yet_loaded') return true
  // Its dates of the future are in the order of their sources, and it is too large to be sorted.
  if (registry === INNER && reason === 'unsorted') return true
  return registry === INNER && reason === 'http_503' && isWithoutSource
}

/** A gateway over large Registries may have more listings than the usual limit, closed ones included. */
function isTooLarge({ registry, state, reason = '' }: SourceState, { scanLimit }: Plan): boolean {
  const mayBeLarge = scanLimit !== null || registry === INNER
  return mayBeLarge && state === 'skipped' && TOO_LARGE.includes(reason)
}

const TOO_LARGE = ['scan_limit', 'unsupported_filter']

/** @param tookMs of the answer, whose ages are of its end */
function isHealthy(
  { registry, state, reason, age_seconds: age = 0 }: SourceState,
  paths: readonly Path[],
  tookMs: number,
): boolean {
  const path = paths.find(({ source }) => source === registry)
  if (path === undefined) return false
  // It changed between the pages of each reading.
  if (state === 'stale' && reason === 'unstable') return true
  // It skips all that it reads, which is too large.
  if (state === 'stale' && registry === INNER && reason === 'http_503') return true
  if (state === 'stale') return path.mode !== 'live' && (age + 1) * 1000 >= STALE_SNAPSHOT_MS
  // What a gateway reads live may be as old again.
  const maxAgeMs = registry === INNER ? 2 * MAX_LIVE_AGE_MS : MAX_LIVE_AGE_MS
  return state === 'loaded' && (path.mode !== 'live' || age * 1000 - tookMs <= maxAgeMs)
}
