import { raceAbort } from '../domain/clock.ts'
import type { ListingQuery } from '../domain/query.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import { type MergeRequest, visibleSources, withBudget } from './sources.ts'

/** Longest wait for the first listings of a source. */
const ARRIVAL_MS = 1000

/**
 * Waits for what is new, for `no-cache`, at most half of the budget; else only for sources that have no listing yet. What is in
 * memory answers where time is up. @returns what is left of the budget
 */
export async function prepareSources(
  sources: readonly NamedSource[],
  { caching }: Pick<ListingQuery, 'caching'>,
  request: MergeRequest & { budgetMs: number },
): Promise<number> {
  const { signal: caller, budgetMs } = request
  const waits = visibleSources(sources, request).flatMap(({ held }) => held.prepare(caching, caller) ?? [])
  if (waits.length === 0) return budgetMs
  const started = performance.now()
  const longestMs = caching === 'no-cache' ? budgetMs / 2 : Math.min(ARRIVAL_MS, budgetMs / 2)
  await withBudget(longestMs, caller, (signal) => raceAbort(Promise.all(waits), signal)).catch(() => {})
  return Math.max(1, budgetMs - (performance.now() - started))
}
