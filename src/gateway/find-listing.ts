import type { Reader } from '../domain/api-key.ts'
import type { Clock } from '../domain/clock.ts'
import { raceAbortAfterTick, withDeadline } from '../domain/deadline.ts'
import type { ListingQuery } from '../domain/query.ts'
import type { Item, NamedSource, Range } from '../domain/reading.ts'
import { SourceError } from '../domain/source-error.ts'
import { EntrepotError } from '../errors.ts'
import { nothingUsable } from './assert-answerable.ts'
import { type MergedItem, mergeCopies } from './merged-item.ts'
import { type FanOutOptions, type Outcome, rankSources, skipAsLoop } from './outcome.ts'
import { countReturned, describeOutcomes, isComplete, type SourceReport } from './source-report.ts'
import { visibleSources } from './visible.ts'

type FindListingOptions = { sources: readonly NamedSource[]; budgetMs: number; clock: Clock }

/** `merged` is `null` only where every source that the reader may see has answered that it has no such listing. */
export type FoundListing = {
  merged: MergedItem | null
  /** Whether every source that could have a better copy has answered. */
  complete: boolean
  outcomes: readonly Outcome[]
  sources: readonly SourceReport[]
}

/** Looks up the listing that `query.listingId` names. */
export type FindListing = (
  query: ListingQuery & { listingId: string },
  asking: { reader: Reader; signal: AbortSignal; options?: Pick<FanOutOptions, 'named' | 'isLoop'> },
) => Promise<FoundListing>

const ONE: Range = { after: null, offsetHint: 0, count: 50 }

/**
 * One listing by its id: all sources are asked at once, and the best copy is shown as soon as every better source has
 * answered. Where it was not found and not every source answered, rejects with `source_incomplete`, or as a page does
 * where none did.
 */
export function createFindListing({ sources, budgetMs, clock }: FindListingOptions): FindListing {
  return async (query, { reader, signal: caller, options: { named = null, isLoop = false } = {} }) => {
    const visible = visibleSources(sources, reader, named)
    const ranked = rankSources(isLoop ? visible.map(skipAsLoop) : visible)
    const late = () => new SourceError('timeout', `no answer within the budget of ${budgetMs} ms`)
    const answers = await withDeadline({ ms: budgetMs, late, caller }, (signal) =>
      askUntilFound(ranked, query, signal),
    )
    const byRank = answers.map(({ outcome }) => outcome)
    const outcomes = visible.flatMap(({ name }) => byRank.filter(({ source }) => source.name === name))
    const merged = mergeCopies(
      answers.map(({ outcome: { source, result }, items }) => ({
        source,
        items,
        isStale: !(result instanceof SourceError) && result.stale,
      })),
    )
    const described = describeOutcomes(outcomes, countReturned(merged === null ? [] : [merged]), clock.now())
    if (merged === null && !isLoop) refuseUnknown(outcomes, described.sources)
    const rank = ranked.findIndex(({ name }) => name === merged?.registry)
    const better = merged === null ? byRank : byRank.slice(0, rank + 1)
    return { merged, outcomes, sources: described.sources, complete: better.every(isComplete) }
  }
}

type Answer = { outcome: Outcome; items: readonly Item[] }

/** The answers of the sources by rank, up to the first that has the listing; and of worse ones that are there already. */
async function askUntilFound(
  ranked: readonly NamedSource[],
  query: ListingQuery,
  signal: AbortSignal,
): Promise<Answer[]> {
  const isLocal = ({ mode }: NamedSource): boolean => mode === 'local'
  const [first] = ranked
  // The local Registry answers from memory: where it is the best source, nothing else has to be asked.
  if (first !== undefined && isLocal(first)) {
    const answer = await ask(first, query, signal)
    if (answer.items.length > 0) return [answer]
    return [answer, ...(await askAll(ranked.slice(1), query, signal))]
  }
  return askAll(ranked, query, signal)
}

async function askAll(
  ranked: readonly NamedSource[],
  query: ListingQuery,
  signal: AbortSignal,
): Promise<Answer[]> {
  const settled = new Map<number, Answer>()
  const asked = ranked.map(async (source, rank) => {
    const answer = await ask(source, query, signal)
    settled.set(rank, answer)
    return answer
  })
  for (const answer of asked) answer.catch(() => {}) // awaited below, or not needed
  for (const answer of asked) if ((await answer).items.length > 0) break
  return [...settled].sort(([a], [b]) => a - b).map(([, answer]) => answer)
}

/** Only a `SourceError` is a source's failure; anything else ends the request. */
async function ask(source: NamedSource, query: ListingQuery, signal: AbortSignal): Promise<Answer> {
  const started = performance.now()
  const elapsedMs = (): number => performance.now() - started
  try {
    const { listings, ...info } = await raceAbortAfterTick(source.read(query, ONE, signal), signal)
    return { outcome: { source, elapsedMs: elapsedMs(), result: info }, items: listings }
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    return { outcome: { source, elapsedMs: elapsedMs(), result: error }, items: [] }
  }
}

function refuseUnknown(outcomes: readonly Outcome[], sources: readonly SourceReport[]): void {
  const failed = outcomes.filter((outcome) => !isComplete(outcome))
  if (failed.length === 0 && outcomes.length > 0) return
  if (failed.length === outcomes.length) throw nothingUsable(failed, sources, false)
  const names = sources
    .filter(({ state }) => state !== 'loaded' && state !== 'stale')
    .map(({ registry }) => registry)
    .join(', ')
  throw new EntrepotError(
    'source_incomplete',
    `Not found where it could be asked for, but ${names} could not be asked`,
    { members: { sources } },
  )
}
