import { raceAbortAfterTick } from '../../domain/clock.ts'
import { hasIdLength } from '../../domain/listing.ts'
import { ANY_STATUS, type ListingQuery } from '../../domain/query.ts'
import type { AnswerFacts } from '../../domain/source/holding.ts'
import type { Item } from '../../domain/source/item.ts'
import { DIRECTORY, joinMissing } from '../../domain/source/missing-source.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import { matchesAll } from '../../filter-spec/evaluate.ts'
import { criteriaIn } from '../../filter-spec/filter.ts'
import { type Decision, decide, type RankedCopy } from '../../listing-index/authority.ts'
import { documentOf } from '../../listing-index/document-reader.ts'
import { KNOWN_BY_ID } from '../../listing-index/ranking.ts'
import { hasAnswered } from '../../wire/describe-missing.ts'
import { askNow, byRank, LOOP, nameIn } from '../ask.ts'
import { type Asked, type Asker, type Outcome, type SourceAnswer, withBudget } from '../asking.ts'
import type { MarketSettings } from '../market-settings.ts'
import { isSignable } from '../signable.ts'
import {
  ageOf,
  countReturned,
  incompleteError,
  isComplete,
  noSourceError,
  type Reports,
  reportOutcomes,
} from '../source-report.ts'
import { type Validity, validityOf } from '../validity.ts'
import { knownInBetter, type MergedItem, mergeItem } from './merged-item.ts'
import type { PriceBounds } from './price-bounds.ts'

/**
 * `merged` is `null` only where every visible source has no such listing. `complete`: every source that could
 * have a better copy has answered.
 */
export type MergedLookup = Reports & { merged: MergedItem | null; isCurrent: Validity }

type Lookup = Omit<ListingQuery, keyof typeof ANY_STATUS> & { listingId: string }

/**
 * Reads the source whose copy that is held is the best, and every better one, at once; without such a copy all of them. Answers as
 * soon as every better source has answered. A source that has it no more, or whose copy is outside the view, gives way to the next.
 * Rejects where nothing was found and a source failed: with `source_incomplete`, or as `noSourceError` where all failed. No
 * source is read for an id that no listing may have.
 */
export async function findListing(
  settings: MarketSettings,
  lookup: Lookup,
  request: Asker & { signal: AbortSignal },
): Promise<MergedLookup> {
  const { budgetMs } = settings
  const { listingId } = lookup
  const asked = askNow(settings, { ...ANY_STATUS, ...lookup }, request)
  if (!hasIdLength(listingId)) return { ...reportOutcomes([], settings), merged: null, isCurrent: undefined }
  const search = new Search(settings, asked, listingId, request)
  const answers = await withBudget(budgetMs, request.signal, (signal) => search.readUntilFound(signal))
  const seen = search.withinView(answers)
  const bounds = await settings.boundsOf(request.reader)
  const best = seen.find(({ items }) => items.length > 0)
  const merged = best === undefined ? null : search.merge(answers, seen, best, bounds)
  // Which of the worse ones have answered by now depends on what is hidden, too.
  const better = seen.filter(({ rank }) => best === undefined || rank <= best.rank)
  const ofSource = new Map(better.map((one) => [one.source, one]))
  const outcomes = asked.answers.flatMap(({ source }) => ofSource.get(source) ?? [])
  const reports = reportOutcomes(outcomes, settings, countReturned(merged === null ? [] : [merged]))
  if (merged === null && request.isLoop !== true) rejectUnknown(reports)
  return { ...reports, merged, isCurrent: validityOf(settings, asked, { from: outcomes, bounds }) }
}

type Answer = Outcome & { items: readonly Item[] }

type Found = RankedCopy & { copy: Item; registry: string }

/** One id, looked for in all sources of a question. */
class Search {
  readonly #settings: MarketSettings
  readonly #asked: Asked
  readonly #listingId: string
  readonly #request: Asker
  readonly #ranked: Asked['answers']
  /** What is held and exists for the reader, at the start. */
  readonly #held: readonly Found[]

  constructor(settings: MarketSettings, asked: Asked, listingId: string, request: Asker) {
    this.#settings = settings
    this.#asked = asked
    this.#listingId = listingId
    this.#request = request
    this.#ranked = byRank(asked.answers)
    this.#held = settings.index
      .decisionsOf(listingId, asked.scope, null)
      .flatMap(({ decider, otherCopies }) => [decider, ...otherCopies])
      .map((copy) => this.#copy(copy, nameIn(asked, copy), copy))
  }

  /** All answers by rank up to the first with a listing of the view, and those of worse sources so far. */
  async readUntilFound(signal: AbortSignal, before: readonly Answer[] = [], from = 0): Promise<Answer[]> {
    const holders = this.#holdersInView(before)
    const holder = this.#ranked.findIndex(({ source }, n) => n >= from && holders.has(source.name))
    const end = holder === -1 ? this.#ranked.length : holder + 1
    const settled: Answer[] = []
    const pending = this.#ranked.slice(from, end).map(async (one) => {
      // What is held and hidden is no answer, not even while the source is away.
      const answer = await this.#read(one, !holders.has(one.source.name), signal)
      settled.push(answer)
      return answer
    })
    for (const answer of pending) answer.catch(() => {}) // awaited below, or not needed
    let isFound = false
    const awaited = [...before]
    for (const answer of pending) {
      awaited.push(await answer)
      isFound = this.withinView(awaited).some(({ items }) => items.length > 0)
      if (isFound) break
    }
    const answers = [...before, ...settled.toSorted((a, b) => a.rank - b.rank)]
    if (isFound || end === this.#ranked.length) return answers
    return this.readUntilFound(signal, answers, end)
  }

  /** Without the copies of listings whose best copy is outside the view. */
  withinView(answers: readonly Answer[]): readonly Answer[] {
    const outside = new Set<Item>()
    for (const { decider, otherCopies, isShown } of this.#decisions(answers))
      if (!isShown) for (const { copy } of [decider, ...otherCopies]) outside.add(copy)
    return answers.map((answer) => {
      const items = answer.items.filter((item) => !outside.has(item))
      return { ...answer, items, matched: items.length }
    })
  }

  /**
   * The best copy, with what the answers and other sources have of the others. `seen`: without what is outside the view; `best`: the
   * first of these with an item.
   */
  merge(answers: readonly Answer[], seen: readonly Answer[], best: Answer, bounds: PriceBounds): MergedItem {
    const { decider, otherCopies, isConflict } = this.#decisions(answers).find(({ isShown }) => isShown)!
    const better = seen.filter(({ rank }) => rank < best.rank)
    const unchecked = better.flatMap(({ source, answer }) =>
      answer instanceof SourceError && answer.traits.state !== 'skipped' ? [source.name] : [],
    )
    const answered = new Set(
      better.flatMap(({ source, answer }) => (answer instanceof SourceError ? [] : source)),
    )
    const known = knownInBetter(this.#settings, this.#asked, (source) => answered.has(source))
    const { stale, asOf } = best.answer as AnswerFacts
    const verdict = {
      registry: decider.registry,
      isStale: stale,
      otherCopies: otherCopies.map(({ copy, registry }) => ({ item: copy, registry })),
      isConflict,
      unchecked,
      ...known(decider.copy, decider.rank),
    }
    const { query } = this.#asked
    const item = mergeItem(this.#settings, decider.copy, verdict, { query, bounds })
    return { ...item, ageSeconds: ageOf(asOf, this.#settings.clock.monotonic()) }
  }

  /** Names of the sources that hold a copy of a listing of the view, as far as the better copies are known. */
  #holdersInView(answers: readonly Answer[]): ReadonlySet<string> {
    const shown = this.#decisions(answers).filter(({ isShown }) => isShown)
    const copies = shown.flatMap(({ decider, otherCopies }) => [decider, ...otherCopies])
    return new Set(copies.map(({ registry }) => registry))
  }

  /** Of any status; shown is what is in the view. */
  #decisions(answers: readonly Answer[]): Decision<Found>[] {
    return decide(this.#copiesIn(answers), { status: null, matches: this.#isInView })
  }

  /**
   * Those of the answers, and of sources that were not asked. Of a source that has failed, what it holds outside the view: it
   * hides the copies of worse ones.
   */
  #copiesIn(answers: readonly Answer[]): Found[] {
    const byRank = new Map(answers.map(({ rank, answer }) => [rank, answer]))
    const held = this.#held.filter((copy) => {
      const answer = byRank.get(copy.rank)
      return answer === undefined || (answer instanceof SourceError && !this.#isInView(copy))
    })
    const read = answers.flatMap(({ items, source, rank }) =>
      items.map((item) => this.#copy(item, source.name, { isOwn: false, status: 'open', rank })),
    )
    return [...read, ...held]
  }

  #copy(copy: Item, registry: string, { isOwn, status, rank }: Omit<RankedCopy, 'item'>): Found {
    const item = this.#settings.ranking.groupBy === 'id' ? KNOWN_BY_ID : copy
    return { item, copy, registry, isOwn, status, rank }
  }

  readonly #isInView = ({ copy, registry }: Found): boolean => {
    const { criteria } = this.#request.reader.filter
    return criteria.length === 0 || matchesAll(criteriaIn(criteria, registry), documentOf(copy.bytes))
  }

  async #read({ source, rank }: SourceAnswer, ignoresHeld: boolean, signal: AbortSignal): Promise<Answer> {
    const started = performance.now()
    const answered = (items: readonly Item[], answer: Outcome['answer']): Answer => ({
      source,
      rank,
      items,
      answer,
      matched: items.length,
      elapsedMs: performance.now() - started,
    })
    const { caching, via, trace } = this.#asked.query
    const question = { listingId: this.#listingId, ignoresHeld, caching, via, trace }
    try {
      if (this.#request.isLoop === true && !source.isOwn) throw LOOP
      const { copies, ...about } = await raceAbortAfterTick(source.find(question, signal), signal)
      const readable = copies.filter(isReadable)
      if (readable.length === 0 && copies.length > 0)
        throw new SourceError('bad_envelope', `${source.name}: its listing is unreadable`)
      const rules = this.#settings.rules.of(source.name)
      const isOfId = this.#settings.ranking.groupBy === 'id'
      const items = readable.filter((item) => rules?.denies(item) !== true && (!isOfId || isSignable(item)))
      const isUnsure = isOfId && about.isAttributed === false
      const isDoubted = isUnsure || readable.some((item) => rules?.isUncertain(item) === true)
      return answered(items, {
        ...about,
        missing: isDoubted ? joinMissing(about.missing, DIRECTORY) : about.missing,
      })
    } catch (error) {
      if (!(error instanceof SourceError)) throw error
      return answered([], error)
    }
  }
}

function rejectUnknown({ outcomes, ...reports }: Reports): void {
  const failed = outcomes.filter((outcome) => !isComplete(outcome))
  if (failed.length === 0 && outcomes.length > 0) return
  if (failed.length === outcomes.length) throw noSourceError(failed, reports)
  const names = reports.sources.flatMap(({ state, registry }) => (hasAnswered(state) ? [] : [registry]))
  throw incompleteError(
    `No Registry that answered has it, and ${names.join(', ')} did not answer: see sources`,
    reports,
  )
}

/** Reading an unreadable copy throws. */
function isReadable(item: Item): boolean {
  try {
    return item.bytes.length > 0
  } catch {
    return false
  }
}
