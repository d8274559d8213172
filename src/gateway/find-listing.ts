import type { Reader } from '../domain/api-key.ts'
import type { Clock } from '../domain/clock.ts'
import { raceAbortAfterTick, withDeadline } from '../domain/deadline.ts'
import type { ListingQuery } from '../domain/query.ts'
import type { Item, NamedSource, Range } from '../domain/reading.ts'
import { SourceError } from '../domain/source-error.ts'
import { EntrepotError } from '../errors.ts'
import { type MergedItem, mergeCopies } from './merged-item.ts'
import {
  countReturned,
  isComplete,
  noSourceError,
  reportOutcomes,
  type SourceReport,
} from './source-report.ts'
import { type MergeOptions, type Outcome, rankSources, skipAsLoop, visibleSources } from './sources.ts'

type FindListingOptions = { sources: readonly NamedSource[]; budgetMs: number; clock: Clock }

/** `merged` is `null` only where every visible source has no such listing. */
export type MergedLookup = {
  merged: MergedItem | null
  /** Whether every source that could have a better copy has answered. */
  complete: boolean
  outcomes: readonly Outcome[]
  sources: readonly SourceReport[]
}

export type FindListing = (
  query: ListingQuery & { listingId: string },
  asking: { reader: Reader; signal: AbortSignal; options?: Pick<MergeOptions, 'named' | 'isLoop'> },
) => Promise<MergedLookup>

const ONE: Range = { after: null, offsetHint: 0, count: 50 }

/**
 * Reads all sources at once, and answers as soon as every better source has answered. Rejects where nothing
 * was found and a source failed: with `source_incomplete`, or as `nothingUsable` where all failed.
 */
export function createFindListing({ sources, budgetMs, clock }: FindListingOptions): FindListing {
  return async (query, { reader, signal: caller, options: { named = null, isLoop = false } = {} }) => {
    const visible = visibleSources(sources, reader, named)
    const ranked = rankSources(isLoop ? visible.map(skipAsLoop) : visible)
    const late = () => new SourceError('timeout', `no answer within the budget of ${budgetMs} ms`)
    const answers = await withDeadline({ ms: budgetMs, late, caller }, (signal) =>
      readUntilFound(ranked, query, signal),
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
    const described = reportOutcomes(outcomes, countReturned(merged === null ? [] : [merged]), clock.now())
    if (merged === null && !isLoop) refuseUnknown(outcomes, described.sources)
    const rank = ranked.findIndex(({ name }) => name === merged?.registry)
    const better = merged === null ? byRank : byRank.slice(0, rank + 1)
    return { merged, outcomes, sources: described.sources, complete: better.every(isComplete) }
  }
}

type Answer = { outcome: Outcome; items: readonly Item[] }

/** All answers by rank up to the first with the listing, and those of worse sources so far. */
async function readUntilFound(
  ranked: readonly NamedSource[],
  query: ListingQuery,
  signal: AbortSignal,
): Promise<Answer[]> {
  const isLocal = ({ mode }: NamedSource): boolean => mode === 'local'
  const [first] = ranked
  // Read from memory; as the best source, its copy needs no other.
  if (first !== undefined && isLocal(first)) {
    const answer = await readSource(first, query, signal)
    if (answer.items.length > 0) return [answer]
    return [answer, ...(await readAll(ranked.slice(1), query, signal))]
  }
  return readAll(ranked, query, signal)
}

async function readAll(
  ranked: readonly NamedSource[],
  query: ListingQuery,
  signal: AbortSignal,
): Promise<Answer[]> {
  const settled = new Map<number, Answer>()
  const asked = ranked.map(async (source, rank) => {
    const answer = await readSource(source, query, signal)
    settled.set(rank, answer)
    return answer
  })
  for (const answer of asked) answer.catch(() => {}) // awaited below, or not needed
  for (const answer of asked) if ((await answer).items.length > 0) break
  return [...settled].sort(([a], [b]) => a - b).map(([, answer]) => answer)
}

/** Anything but a `SourceError` is a fault of ours and ends the request. */
async function readSource(source: NamedSource, query: ListingQuery, signal: AbortSignal): Promise<Answer> {
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
  if (failed.length === outcomes.length) throw noSourceError(failed, sources, false)
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
