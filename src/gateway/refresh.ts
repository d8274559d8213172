import type { Holding } from '../domain/source/holding.ts'
import { awaitWithin } from './asking.ts'
import type { CheckedQuery } from './market-query.ts'
import { visibleSources } from './sources.ts'

/** Longest wait for the first listings of a source. */
const ARRIVAL_MS = 1000

/**
 * Waits for what is new, for `no-cache`, at most half of the budget; else only for sources that have no listing yet. What is
 * held answers where time is up. @returns what is left of the budget
 */
export async function refresh(
  sources: readonly Holding[],
  { query: { caching }, request }: Pick<CheckedQuery, 'query' | 'request'>,
): Promise<number> {
  const { signal: caller, budgetMs } = request
  const waits = visibleSources(sources, request).flatMap(({ prepare }) => prepare(caching, caller) ?? [])
  if (waits.length === 0) return budgetMs
  const started = performance.now()
  const longestMs = caching === 'no-cache' ? budgetMs / 2 : Math.min(ARRIVAL_MS, budgetMs / 2)
  await awaitWithin(longestMs, caller, waits)
  return Math.max(1, budgetMs - (performance.now() - started))
}
