import { endOfMs, formatTimestamp, type Micros } from '../../src/domain/timestamp.ts'
import { type Answer, type FoundOne, isMatch, type Page, type Shown, type SourceState } from './ask.ts'
import { judgeExactly } from './exactly.ts'
import type { History, Moment, Version } from './history.ts'
import { isReadFully, ranked } from './model.ts'
import { INNER, type Plan } from './world.ts'

/** What an answer is judged by. */
type Evidence = { plan: Plan; history: History }

/** What was wrong with an answer, and how much was checked. */
type Verdict = {
  faults: readonly string[]
  /** Listings that had to be shown. */
  required: number
  /** Whether nothing changed, so that the whole sequence was compared. */
  isExact: boolean
}

/** Longest that a gateway shows data without asking again: fresh with its jitter, and stale while it revalidates. */
const MAX_LIVE_AGE_MS = 15_000 * 1.1 + 60_000
/** A snapshot that is older is stale. */
const STALE_SNAPSHOT_MS = 30_000

/** One way on which listings of a Registry come to the reader. */
type Path = {
  /** As `sources` names it. */
  source: string
  registry: string
  /** As `_meta.registry` names it. */
  shownAs: string
  rank: number
  mode: 'live' | 'snapshot'
  /** By how much the data may be older than the age that is stated. */
  hiddenAgeMs: number
}

/** A listing by its copies of the time that an answer may be made of. */
type Candidate = {
  key: string
  listingId: string
  /** Where it is ordered at least: position of the newest copy that was there all the time. `null`: there was none. */
  required: Micros | null
  positions: Set<Micros>
  copies: number
}

/** The time that an answer may be made of, and what was there then. */
type Window = {
  answer: Answer
  history: History
  paths: readonly Path[]
  /** Before the oldest data that came on a path. */
  since: ReadonlyMap<Path, number>
  end: Moment
  candidates: ReadonlyMap<string, Candidate>
  /** Keys of the items. */
  keys: Map<Shown, string>
  /** Dates of the future count as the moment of reading, here or in the inner gateway: between these. */
  low: Micros
  high: Micros
}

/**
 * Judges an answer of several pages: every listing that some source held unchanged since before the oldest data of the
 * answer until its end is shown; nothing is shown that was not there within that time; the order is that of positions;
 * no source is missing. Where nothing changed, the sequence is exactly that of the model.
 */
export function judge(answer: Answer, { plan, history }: Evidence): Verdict {
  const { pages, asked } = answer
  const paths = pathsOf(plan)
  const verdict = (faults: readonly string[], required = 0, isExact = false): Verdict => ({
    faults: faults.map((fault) => `${asked}: ${fault}`),
    required,
    isExact,
  })
  if (pages.some((page) => isWithoutPublisher(answer, page))) return verdict([])
  const unhealthy = pages.flatMap((page) => judgeSources(page, paths))
  if (unhealthy.length > 0) return verdict(unhealthy)
  const window = windowOf(answer, paths, history)
  const foreign = judgeItems(window)
  if (foreign.length > 0) return verdict(foreign)
  const faults = [
    ...judgeOrder(answer),
    ...judgePositions(window),
    ...judgeRepeats(window),
    ...judgeMissing(window),
    ...judgeCounts(answer),
  ]
  const required = [...window.candidates.values()].filter((candidate) => candidate.required !== null)
  const isExact = faults.length === 0 && history.lastChange.at * 1000 <= window.low
  if (isExact) faults.push(...judgeExactly(answer, window.keys, { plan, history }))
  return verdict(faults, required.length, isExact)
}

/** Judges the answer to `GET /listings/{id}`: the best copy, whatever its status. */
export function judgeOne(found: FoundOne, { plan, history }: Evidence): string[] {
  const { asked, listingId, shown, begin, end, complete } = found
  const fault = (text: string): string[] => [`${asked}: ${text}`]
  if (!complete) return fault('a better source counts as missing')
  const copies = pathsOf(plan).flatMap((path) => {
    const since = begin.at - MAX_LIVE_AGE_MS - path.hiddenAgeMs - 1000
    return history
      .of(path.registry, listingId)
      .filter((version) => version.odd === undefined && overlaps(version, since, end))
      .map((version) => ({ path, version, isRequired: isUnchanged(version, since, end) }))
  })
  const required = copies.filter(({ isRequired }) => isRequired)
  if (shown === null) return required.length > 0 ? fault(`404, but ${required[0]!.path.shownAs} has it`) : []
  const held = copies.filter(
    ({ path, version }) => path.shownAs === shown.registry && version.text === shown.text,
  )
  if (held.length === 0) return fault(`shows what ${shown.registry} did not hold: ${shown.text}`)
  const rank = Math.min(...held.map(({ path }) => path.rank))
  const better = required.find(({ path }) => path.rank < rank)
  return better === undefined ? [] : fault(`shows ${shown.registry}, but ${better.path.shownAs} is better`)
}

function pathsOf({ outer, inner }: Plan): Path[] {
  return ranked(outer).flatMap(({ name, mode }, rank): Path[] => {
    if (name !== INNER) return [{ source: name, registry: name, shownAs: name, rank, mode, hiddenAgeMs: 0 }]
    return inner.map((behind) => ({
      source: INNER,
      registry: behind.name,
      shownAs: `${INNER}/${behind.name}`,
      rank,
      mode,
      hiddenAgeMs: MAX_LIVE_AGE_MS,
    }))
  })
}

/** A Registry is skipped for a moment where the publisher that is asked for is new there. */
function isWithoutPublisher({ question }: Answer, { sources, complete }: Page): boolean {
  const isSkipped = ({ state, filters }: SourceState) =>
    state === 'skipped' && String(filters) === 'publisher'
  return question.publisher !== null && !complete && sources.some(isSkipped)
}

/** Every source is healthy, so it is loaded; a snapshot may be stale by its age. */
function judgeSources({ sources, complete }: Page, paths: readonly Path[]): string[] {
  const names = [...new Set(paths.map(({ source }) => source))]
  const faults = sources.filter((source) => !isHealthy(source, paths)).map((source) => JSON.stringify(source))
  if (!complete) faults.push('complete is false')
  if (names.length !== sources.length) faults.push(`sources are ${sources.map(({ registry }) => registry)}`)
  return faults
}

function isHealthy({ registry, state, age_seconds: age = 0 }: SourceState, paths: readonly Path[]): boolean {
  const path = paths.find(({ source }) => source === registry)
  if (path === undefined) return false
  if (state === 'stale') return path.mode === 'snapshot' && (age + 1) * 1000 >= STALE_SNAPSHOT_MS
  return state === 'loaded' && (path.mode === 'snapshot' || age * 1000 <= MAX_LIVE_AGE_MS)
}

function windowOf(answer: Answer, paths: readonly Path[], history: History): Window {
  const { pages } = answer
  const oldest = (path: Path): number => Math.min(...pages.map((page) => dataFrom(page, path)))
  const since = new Map(paths.map((path) => [path, oldest(path)] as const))
  const end = pages.at(-1)!.end
  const candidates = candidatesOf({ answer, paths, since, end, history })
  const [low, high] = [Math.min(...since.values()) * 1000, endOfMs(end.at)]
  return { answer, history, paths, since, end, candidates, keys: new Map(), low, high }
}

/** Before the oldest data of a page, by the age that it states. */
function dataFrom({ begin, sources }: Page, { source, hiddenAgeMs }: Path): number {
  const { age_seconds: age = 0 } = sources.find(({ registry }) => registry === source)!
  return begin.at - (age + 1) * 1000 - hiddenAgeMs
}

function candidatesOf({
  answer: { question },
  paths,
  since,
  end,
  history,
}: Pick<Window, 'answer' | 'paths' | 'since' | 'end' | 'history'>): Map<string, Candidate> {
  const candidates = new Map<string, Candidate>()
  // Of several copies behind a gateway, another one may be shown, elsewhere in the order, once any of them changes.
  const isUncertain = new Set<string>()
  for (const version of history.versions) {
    const { key, listingId, createdAt } = version
    const isMatching = isMatch(question, version)
    for (const path of paths) {
      if (path.registry !== version.registry || !overlaps(version, since.get(path)!, end)) continue
      const isBehind = path.source === INNER
      if (isBehind && !isUnchanged(version, since.get(path)!, end)) isUncertain.add(key)
      // A snapshot of a gateway has a listing by one of its copies, where the newest of them is.
      const isByOther =
        isBehind && isReadFully(path.mode, question) && version.status === 'open' && version.odd === undefined
      if (!isMatching && !isByOther) continue
      if (!isMatching) isUncertain.add(key)
      const known = candidates.get(key)
      const candidate = known ?? { key, listingId, required: null, positions: new Set(), copies: 0 }
      candidates.set(key, candidate)
      candidate.positions.add(createdAt)
      candidate.copies++
    }
  }
  for (const version of history.versions) {
    if (!isMatch(question, version)) continue
    for (const path of paths) {
      if (path.registry !== version.registry || !isUnchanged(version, since.get(path)!, end)) continue
      if (path.source === INNER && isUncertain.has(version.key)) continue
      const candidate = candidates.get(version.key)!
      candidate.required = Math.max(candidate.required ?? Number.NEGATIVE_INFINITY, version.createdAt)
    }
  }
  return candidates
}

function overlaps({ since, until }: Version, from: number, end: Moment): boolean {
  return since.change <= end.change && (until === null || until.at >= from)
}

function isUnchanged({ since, until }: Version, from: number, end: Moment): boolean {
  return since.at <= from && (until === null || until.change > end.change)
}

/** Every item is what its Registry held at some time of the window, and matches. */
function judgeItems({ answer, history, paths, since, end, keys }: Window): string[] {
  const faults: string[] = []
  for (const item of answer.pages.flatMap(({ items }) => items)) {
    const path = paths.find(({ shownAs }) => shownAs === item.registry)
    const versions = path === undefined ? [] : history.of(path.registry, item.listingId)
    const same = versions.filter(({ text }) => text === item.text)
    const held = same.find((version) => overlaps(version, since.get(path!)!, end))
    if (held !== undefined && isMatch(answer.question, held)) keys.set(item, held.key)
    else if (held !== undefined) faults.push(`${item.listingId} does not match: ${item.text}`)
    else {
      const times = same.map(
        ({ since: from, until }) => `${from.at - end.at} to ${(until?.at ?? 0) - end.at} ms`,
      )
      faults.push(
        `${item.registry} did not hold ${item.listingId} then, but ${times.join(', ')}: ${item.text}`,
      )
    }
  }
  return faults
}

/** Pages by offset are judged one by one: between them anything may move. */
function judgeOrder({ kind, pages }: Answer): string[] {
  const sequences = kind === 'pages' ? pages.map(({ items }) => items) : [pages.flatMap(({ items }) => items)]
  return sequences.flatMap((items) => {
    const at = items.findIndex((item, n) => n > 0 && item.position > items[n - 1]!.position)
    return at === -1 ? [] : [`${items[at]!.listingId} is newer than ${items[at - 1]!.listingId} before it`]
  })
}

/** A listing is where one of its copies is. */
function judgePositions({ keys, candidates, low, high }: Window): string[] {
  return [...keys].flatMap(([{ position, listingId }, key]) => {
    const { positions } = candidates.get(key)!
    const isFuture = position >= low && position <= high && [...positions].some((one) => one > position)
    return positions.has(position) || isFuture
      ? []
      : [`${listingId} is at ${formatTimestamp(position)}, where no copy of it is`]
  })
}

/** A page and a stream repeat nothing. A walk may repeat a listing with several copies, or one that has changed. */
function judgeRepeats({ answer: { kind, pages }, keys, candidates }: Window): string[] {
  const faults: string[] = []
  const before = new Set<string>()
  for (const { items } of pages) {
    const onPage = new Set<string>()
    for (const item of items) {
      const key = keys.get(item)!
      const isSingle = candidates.get(key)!.copies === 1
      if (onPage.has(key)) faults.push(`${item.listingId} twice in one answer`)
      else if (kind === 'walk' && before.has(key) && isSingle)
        faults.push(`${item.listingId} twice in one walk, though it has one copy`)
      onPage.add(key)
      before.add(key)
    }
  }
  return faults
}

/** Pages by offset that belong together are judged where nothing changed. */
function judgeMissing({ answer, keys, candidates, low, high }: Window): string[] {
  const { pages, offset, isToEnd, kind } = answer
  if (kind === 'pages') return []
  const items = pages.flatMap((page) => page.items)
  const shown = new Set(keys.values())
  const missing = [...candidates.values()].filter((one) => one.required !== null && !shown.has(one.key))
  const first = offset === 0 ? Number.POSITIVE_INFINITY : (items[0]?.position ?? Number.NEGATIVE_INFINITY)
  const last = isToEnd ? Number.NEGATIVE_INFINITY : (items.at(-1)?.position ?? Number.POSITIVE_INFINITY)
  const faults: string[] = []
  for (const candidate of missing) {
    const { key, required, positions } = candidate
    const newest = Math.min(Math.max(...positions), high)
    if (Math.min(required!, low) > last && newest < first)
      faults.push(`${key} is missing, at ${formatTimestamp(required!)}`)
  }
  const before = missing.filter((one) => Math.min(one.required!, low) > first).length
  if (before > offset) faults.push(`${before} listings are before offset ${offset}`)
  return faults
}

/** The later pages of a walk have the total of the first one. */
function judgeCounts({ pages, kind }: Answer): string[] {
  return pages.flatMap(({ items, total, sources }, n) => {
    const returned = sources.reduce((sum, source) => sum + (source.returned ?? 0), 0)
    const hasOwnTotal = total !== null && (n === 0 || kind !== 'walk')
    return [
      ...(hasOwnTotal && total < items.length ? [`total is ${total} of ${items.length}`] : []),
      ...(returned !== items.length ? [`${returned} returned of ${items.length}`] : []),
    ]
  })
}
