import type { Answer, Completeness, FoundOne, SourceState } from './ask.ts'
import { judgeExactly } from './exactly.ts'
import { type FoundCounts, judgeCountsOf } from './facets.ts'
import { findHeld, judgeItem } from './items.ts'
import { pathsOf, type Question } from './model.ts'
import { INNER, type Plan, type Route } from './plan.ts'
import { judgeCounts, judgeMissing, judgeOrder, judgeRepeats } from './sequence.ts'
import {
  type Evidence,
  isUnchanged,
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

/** A source that was read whole since is not stale, if its reads do not fail. */
const STALE_MS = 30_000
/** The longest first pull. */
const LOADING_SECONDS = 20
/** How long the answer of a source about one listing counts. */
const LOOK_UP_MS = 15_000

/**
 * Judges an answer of several pages: every listing that its best source held unchanged since before the oldest data of the
 * answer until its end is shown; nothing is shown that was not there within that time, and no copy of which a better
 * source had one; the order is that of the copies that are shown; no source is missing. Where nothing changed, the
 * sequence is exactly that of the model.
 */
export function judge(answer: Answer, { plan, history }: Evidence): Verdict {
  const { pages, question } = answer
  const unhealthy = pages.flatMap((page) => judgeSources(page, question, plan))
  if (unhealthy.length > 0) return verdictOf(answer, unhealthy)
  const window = windowOf(pages, question, { plan, history })
  const found = pages.map(({ items }) => findHeld(window, items))
  const foreign = found.flatMap(({ faults }) => faults)
  if (foreign.length > 0) return verdictOf(answer, foreign)
  const held = found.map((page) => page.held)
  const faults = [
    ...held.flat().flatMap((one) => judgeItem(window, one)),
    ...judgeOrder(window, answer, held),
    ...judgeRepeats(window, answer, held),
    ...judgeMissing(
      window,
      answer,
      held,
      found.flatMap(({ nameless }) => nameless),
    ),
    ...judgeCounts(window, answer),
  ]
  const isExact = faults.length === 0 && isCalm(window)
  if (isExact) faults.push(...judgeExactly(window, answer, held.flat()))
  return verdictOf(answer, faults, window, isExact)
}

/** Whether no listing changed since before the oldest data. */
function isCalm({ history, low }: Window): boolean {
  return history.lastChange.at * 1000 <= low
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
  const unhealthy = judgeSources(found, question, plan)
  if (unhealthy.length > 0) return verdictOf(found, unhealthy)
  const window = windowOf([found], question, { plan, history })
  const isExact = isCalm(window)
  return verdictOf(found, judgeCountsOf(window, found, isExact), window, isExact)
}

/** Judges the answer to `GET /listings/{id}`: the best copy, whatever its status. */
export function judgeOne(found: FoundOne, { plan, history }: Evidence): Verdict {
  const { listingId, shown, ageMs, begin, end, complete } = found
  const fault = (text: string): Verdict => verdictOf(found, [text])
  const versions = pathsOf(plan, ANY_LISTING).flatMap((path) => {
    const since = begin.at - Math.max(ageMs, LOOK_UP_MS * (path.isBehind ? 2 : 1)) - 1000
    return history
      .of(path.registry, listingId)
      .filter((version) => overlaps(version, since, end))
      .map((version) => ({ path, version, isSteady: isUnchanged(version, since, end) }))
  })
  // A source whose copy is too large to read has not answered.
  const copies = versions.filter(({ version }) => version.odd === undefined)
  if (!complete && plan.failing === null && copies.length === versions.length)
    return fault('a better source counts as missing')
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

/** Every source is held, but for those that may be away, or are held in part as the plan says. */
function judgeSources({ sources, complete }: Completeness, question: Question, plan: Plan): string[] {
  const asked = plan.outer.flatMap(({ name }) => (question.sources?.includes(name) === false ? [] : name))
  const named = sources.map(({ registry }) => registry).filter((name) => !name.includes('/'))
  const faults = sources
    .filter((source) => !isRight(source, question, plan))
    .map((source) => JSON.stringify(source))
  const isWhole = sources.every(({ state }) => USABLE.includes(state))
  if (complete !== isWhole) faults.push(`complete is ${complete}`)
  if (String(named.toSorted()) !== String(asked.toSorted())) faults.push(`sources are ${named}`)
  return faults
}

function isRight(source: SourceState, question: Question, plan: Plan): boolean {
  const { registry, state, reason, age_seconds: age = 0, held = 0, of = 0 } = source
  const isClosedAsked = question.status !== 'open'
  if (reason === 'open_only')
    return state === 'skipped' && isClosedAsked && registry.endsWith('/closed') === (question.status === null)
  if (registry.endsWith('/publishers')) return question.publisher !== null && reason === 'publishers_unknown'
  // Behind a gateway only what it lacks is named.
  const { maxListings } = routeOf(registry, plan) ?? {}
  if (maxListings === undefined) return false
  const isStale = (age + 1) * 1000 >= STALE_MS
  // What is held in part and stale says why it is stale.
  const isInPart = maxListings !== null && state === 'partial' && (reason === 'too_large' || isStale)
  if (isInPart) return registry.includes('/') || (held <= maxListings && held < of)
  if (registry.split('/').at(-1) === plan.failing) return true
  // A pull ends some ms after its last page has come.
  if (state === 'loading') return age < LOADING_SECONDS && held <= of
  return state === 'loaded' || (state === 'stale' && isStale)
}

/** `eu`, or `inner/eu` of the inner gateway. */
function routeOf(name: string, { outer, inner }: Plan): Route | undefined {
  const [first, behind] = name.split('/')
  return behind === undefined
    ? outer.find((route) => route.name === first)
    : inner.find((route) => first === INNER && route.name === behind)
}
