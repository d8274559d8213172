import { ANY_STATUS, type ListingQuery } from '../domain/query.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import type { Item, Range } from '../domain/source/reading.ts'
import { SourceError } from '../domain/source/source-error.ts'
import { hasAnswered } from '../wire/describe-missing.ts'
import { isReadable, type MergedItem, mergeCopies } from './merged-item.ts'
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

/**
 * `merged` is `null` only where every visible source has no such listing. `complete`: every source that could
 * have a better copy has answered.
 */
export type MergedLookup = Reports & { merged: MergedItem | null }

type Lookup = Omit<ListingQuery, keyof typeof ANY_STATUS> & { listingId: string }

export type FindListing = (lookup: Lookup, request: MergeRequest) => Promise<MergedLookup>

const ONE: Range = { after: null, offsetHint: 0, count: 50 }

/**
 * Reads all sources at once, and answers as soon as every better source has answered. Rejects where nothing
 * was found and a source failed: with `source_incomplete`, or as `noSourceError` where all failed.
 */
export function createFindListing({ sources, budgetMs, clock }: MergeSettings): FindListing {
  return async (lookup, { reader, signal: caller, options = {} }) => {
    const query = { ...ANY_STATUS, ...lookup }
    const visible = visibleSources(sources, reader, options)
    const ranked = rankSources(visible)
    const answers = await withBudget(budgetMs, caller, (signal) => readUntilFound(ranked, query, signal))
    const byRank = answers.map(({ outcome }) => outcome)
    const outcomes = visible.flatMap(({ name }) => byRank.filter(({ source }) => source.name === name))
    const merged = mergeCopies(answers)
    const reports = reportOutcomes(outcomes, countReturned(merged === null ? [] : [merged]), clock.now())
    if (merged === null && !options.isLoop) rejectUnknown(reports)
    const rank = ranked.findIndex(({ name }) => name === merged?.registry)
    const better = merged === null ? byRank : byRank.slice(0, rank + 1)
    return { ...reports, merged, complete: better.every(isComplete) }
  }
}

type Answer = { outcome: Outcome; items: readonly Item[] }

/** All answers by rank up to the first with the listing, and those of worse sources so far. */
async function readUntilFound(
  ranked: readonly NamedSource[],
  query: ListingQuery,
  signal: AbortSignal,
): Promise<Answer[]> {
  const [first, ...others] = ranked
  // Read from memory; as the best source, its copy needs no other.
  if (first?.mode === 'local') {
    const answer = await readSource(first, query, signal)
    return answer.items.length > 0 ? [answer] : [answer, ...(await readUntilFound(others, query, signal))]
  }
  const settled = new Map<number, Answer>()
  const answers = ranked.map(async (source, rank) => {
    const answer = await readSource(source, query, signal)
    settled.set(rank, answer)
    return answer
  })
  for (const answer of answers) answer.catch(() => {}) // awaited below, or not needed
  for (const answer of answers) if ((await answer).items.length > 0) break
  return [...settled].sort(([a], [b]) => a - b).map(([, answer]) => answer)
}

async function readSource(source: NamedSource, query: ListingQuery, signal: AbortSignal): Promise<Answer> {
  const { result, elapsedMs } = await askSource(() => source.read(query, ONE, signal), signal)
  if (result instanceof SourceError) return { outcome: { source, elapsedMs, result }, items: [] }
  const { listings, ...info } = result
  const items = listings.filter((item) => isReadable({ item }))
  if (items.length > 0 || listings.length === 0)
    return { outcome: { source, elapsedMs, result: info }, items }
  const unreadable = new SourceError('bad_envelope', `${source.name}: its listing is unreadable`)
  return { outcome: { source, elapsedMs, result: unreadable }, items }
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
