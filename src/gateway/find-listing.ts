import { hasIdLength } from '../domain/listing.ts'
import { ANY_STATUS, type ListingQuery, type StandingFilter } from '../domain/query.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import type { Item, Range } from '../domain/source/reading.ts'
import { traitsOf } from '../domain/source/reasons.ts'
import { SourceError } from '../domain/source/source-error.ts'
import { hasAnswered } from '../wire/describe-missing.ts'
import { decide } from './authority.ts'
import { type Copy, decidingView, isReadable } from './deciders.ts'
import { type DecidingView, heldCopies } from './holdings.ts'
import { publisherInBetter } from './known-publisher.ts'
import { describeItem, type MergedItem, mergeItem } from './merged-item.ts'
import {
  countReturned,
  incompleteError,
  isComplete,
  noSourceError,
  type Reports,
  reportOutcomes,
} from './source-report.ts'
import {
  askSource,
  type MergeRequest,
  type MergeSettings,
  type Outcome,
  rankSources,
  visibleSources,
  withBudget,
} from './sources.ts'
import { bothHold, type Validity, validityOf, whileHeld } from './validity.ts'

/**
 * `merged` is `null` only where every visible source has no such listing. `complete`: every source that could
 * have a better copy has answered.
 */
export type MergedLookup = Reports & { merged: MergedItem | null; isCurrent: Validity }

type Lookup = Omit<ListingQuery, keyof typeof ANY_STATUS> & { listingId: string }

const ONE: Range = { after: null, count: 50 }

/**
 * Reads the source whose copy in memory is the best, and every better one, at once; without a copy in memory all of them.
 * Answers as soon as every better source has answered. A source that has it no more, or whose copy is outside the view,
 * gives way to the next. Rejects
 * where nothing was found and a source failed: with `source_incomplete`, or as `noSourceError` where all failed. No
 * source is read for an id that no listing may have.
 */
export async function findListing(
  settings: MergeSettings,
  lookup: Lookup,
  request: MergeRequest,
): Promise<MergedLookup> {
  const { sources, budgetMs, clock } = settings
  const query = { ...ANY_STATUS, ...lookup }
  const visible = visibleSources(sources, request)
  const isHeld = whileHeld(visible)
  if (!hasIdLength(lookup.listingId))
    return { ...reportOutcomes([], new Map(), settings), merged: null, isCurrent: undefined }
  const ranked = rankSources(visible)
  const standing = request.reader.filter
  const view = decidingView(standing)
  const answers = await withBudget(budgetMs, request.signal, (signal) =>
    readUntilFound({ ranked, view }, query, signal),
  )
  const seen = withinView(answers, { ranked, view }, query.listingId)
  const merged = mergeAnswers(
    { ranked, view, standing },
    { answers, seen },
    query.listingId,
    clock.monotonic(),
  )
  const rank = ranked.findIndex(({ name }) => name === merged?.registry)
  // Which of the worse ones have answered by now depends on what is hidden, too.
  const better = seen.filter((answer) => merged === null || answer.rank <= rank)
  const outcomes = visible.flatMap((one) =>
    better.flatMap(({ outcome }) => (outcome.source === one ? [outcome] : [])),
  )
  const reports = reportOutcomes(outcomes, countReturned(merged === null ? [] : [merged]), settings)
  if (merged === null && !request.isLoop) rejectUnknown(reports)
  const bounds = await settings.boundsOf(request.reader)
  const shown = merged && describeItem(merged, { ...settings, bounds, via: query.via })
  return {
    ...reports,
    merged: shown,
    complete: better.every(({ outcome }) => isComplete(outcome)),
    isCurrent: bothHold(validityOf({ outcomes, areBoundsCurrent: bounds.isCurrent }, null, clock), isHeld),
  }
}

type Answer = { rank: number; outcome: Outcome; items: readonly Item[] }

type Sight = { ranked: readonly NamedSource[]; view: DecidingView; standing?: StandingFilter | undefined }

/** All answers by rank up to the first with a listing of the view, and those of worse sources so far. */
async function readUntilFound(
  { ranked, view }: Sight,
  query: Lookup & ListingQuery,
  signal: AbortSignal,
  before: readonly Answer[] = [],
  from = 0,
): Promise<Answer[]> {
  const holders = holdersInView(before, { ranked, view }, query.listingId)
  const holder = ranked.findIndex((_, rank) => rank >= from && holders.has(rank))
  const end = holder === -1 ? ranked.length : holder + 1
  const settled = new Map<number, Answer>()
  const pending = ranked.slice(from, end).map(async (source, n) => {
    // What is held and hidden is no answer, not even while the source is away.
    const asked = holders.has(from + n) ? query : { ...query, ignoresHeld: true }
    const answer = { rank: from + n, ...(await readSource(source, asked, signal)) }
    settled.set(answer.rank, answer)
    return answer
  })
  for (const answer of pending) answer.catch(() => {}) // awaited below, or not needed
  let isFound = false
  const awaited = [...before]
  for (const answer of pending) {
    awaited.push(await answer)
    isFound = withinView(awaited, { ranked, view }, query.listingId).some(({ items }) => items.length > 0)
    if (isFound) break
  }
  const answers = [...before, ...[...settled.values()].sort((a, b) => a.rank - b.rank)]
  if (isFound || end === ranked.length) return answers
  return readUntilFound({ ranked, view }, query, signal, answers, end)
}

/** Ranks of the sources that hold a copy of a listing of the view, as far as the better copies are known. */
function holdersInView(
  answers: readonly Answer[],
  { ranked, view }: Sight,
  listingId: string,
): ReadonlySet<number> {
  const decisions = decide(copiesOf(answers, { ranked, view }, listingId), { status: null })
  return new Set(
    decisions
      .filter(({ decider }) => view.has(decider.item, ranked[decider.rank]!.name))
      .flatMap(({ decider, otherCopies }) => [decider, ...otherCopies].map(({ rank }) => rank)),
  )
}

/** Without the copies of listings whose best copy is outside the view. */
function withinView(
  answers: readonly Answer[],
  { ranked, view }: Sight,
  listingId: string,
): readonly Answer[] {
  if (view.key === '') return answers
  const outside = new Set<Item>()
  for (const { decider, otherCopies } of decide(copiesOf(answers, { ranked, view }, listingId), {
    status: null,
  }))
    if (!view.has(decider.item, ranked[decider.rank]!.name))
      for (const { item } of [decider, ...otherCopies]) outside.add(item)
  return answers.map((answer) => {
    const items = answer.items.filter((item) => !outside.has(item))
    const { outcome } = answer
    if (items.length === answer.items.length || outcome.result instanceof SourceError) return answer
    const total = outcome.result.total - (answer.items.length - items.length)
    return { ...answer, items, outcome: { ...outcome, result: { ...outcome.result, total } } }
  })
}

/**
 * Those of the answers, and of sources in memory that were not asked. Of a source that has failed, what it holds outside the view:
 * it hides the copies of worse ones.
 */
function copiesOf(answers: readonly Answer[], { ranked, view }: Sight, listingId: string): Copy[] {
  const asked = new Map(answers.map(({ rank, outcome }) => [rank, outcome]))
  const held = ranked.flatMap((source, rank) => {
    const outcome = asked.get(rank)
    if (outcome === undefined) return heldCopies(source, rank, listingId)
    if (!(outcome.result instanceof SourceError)) return []
    return heldCopies(source, rank, listingId).filter(({ item }) => !view.has(item, source.name))
  })
  const read = answers.flatMap(({ items, rank }) =>
    items.map((item): Copy => ({ item, rank, status: 'open', isOwn: false })),
  )
  return [...read, ...held]
}

async function readSource(
  source: NamedSource,
  query: ListingQuery,
  signal: AbortSignal,
): Promise<Omit<Answer, 'rank'>> {
  const { result, elapsedMs } = await askSource(() => source.read(query, ONE, signal), signal)
  const about = { source, elapsedMs }
  if (result instanceof SourceError) return { outcome: { ...about, result }, items: [] }
  const { listings, hasMore: _, ...info } = result
  const items = listings.filter(isReadable)
  if (items.length > 0 || listings.length === 0) return { outcome: { ...about, result: info }, items }
  const unreadable = new SourceError('bad_envelope', `${source.name}: its listing is unreadable`)
  return { outcome: { ...about, result: unreadable }, items }
}

/** The best copy, with what the answers and the sources in memory have of the others. `seen`: without what is outside the view. */
function mergeAnswers(
  { ranked, view, standing }: Sight,
  { answers, seen }: { answers: readonly Answer[]; seen: readonly Answer[] },
  listingId: string,
  now: number,
): MergedItem | null {
  const bestAnswer = seen.find(({ items }) => items.length > 0)
  if (bestAnswer === undefined) return null
  const copies = copiesOf(answers, { ranked, view }, listingId)
  const matches = ({ item, rank }: Copy) => view.has(item, ranked[rank]!.name)
  const decisions = decide(copies, { status: null, matches })
  const { decider, otherCopies, isConflict } = decisions.find(({ isShown }) => isShown)!
  const better = seen.filter(({ rank }) => rank < bestAnswer.rank)
  const unchecked = better.flatMap(({ outcome: { source, result } }) =>
    result instanceof SourceError && traitsOf(result.reason).state !== 'skipped' ? [source.name] : [],
  )
  const answered = new Set(
    better.flatMap(({ outcome, rank }) => (outcome.result instanceof SourceError ? [] : [rank])),
  )
  const { result } = bestAnswer.outcome
  const isStale = !(result instanceof SourceError) && result.stale
  const ageSeconds =
    result instanceof SourceError ? undefined : Math.max(0, Math.floor((now - result.asOf) / 1000))
  const { rank } = bestAnswer
  const about = publisherInBetter(ranked, { item: decider.item, rank }, standing, (n) => answered.has(n))
  const verdict = { ...about, otherCopies, isConflict, unchecked }
  const merged = mergeItem(decider.item, { ranked, rank, isStale }, verdict)
  return { ...merged, ageSeconds }
}

function rejectUnknown({ outcomes, sources }: Reports): void {
  const failed = outcomes.filter((outcome) => !isComplete(outcome))
  if (failed.length === 0 && outcomes.length > 0) return
  if (failed.length === outcomes.length) throw noSourceError(failed, sources)
  const names = sources.flatMap(({ state, registry }) => (hasAnswered(state) ? [] : [registry]))
  throw incompleteError(
    `No Registry that answered has it, and ${names.join(', ')} did not answer: see sources`,
    sources,
  )
}
