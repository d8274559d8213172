import { raceAbort, withDeadline } from '../domain/clock.ts'
import type { ListingQuery } from '../domain/query.ts'
import type { Reader } from '../domain/reader.ts'
import type { AnswerFacts, HeldAnswer, Holding } from '../domain/source/holding.ts'
import { SourceError } from '../domain/source/source-error.ts'
import type { Scope } from '../listing-index/scope.ts'
import type { ByPrice } from './pages/price-groups.ts'

/** What one source says: facts of what is held, or was found there, or why nothing is shown. */
export type SourceAnswer<Facts = HeldAnswer> = {
  source: Holding
  /** 0 is the best. */
  rank: number
  answer: Facts | SourceError
}

/** What one source says in an answer. */
export type Outcome = SourceAnswer<AnswerFacts> & {
  elapsedMs: number
  /** What matches there, whether better sources have it or not; 0 where nothing is shown. */
  matched: number
}

/** The reader of a question, and the sources that it names. */
export type Asker = {
  reader: Reader
  /** Default: all visible sources. */
  named?: readonly string[] | null
  /** Only the local Registry is read. */
  isLoop?: boolean
}

export type AskRequest = Asker & {
  signal: AbortSignal
  budgetMs: number
  requireAll?: boolean | undefined
  /** Default: newest first. */
  byPrice?: ByPrice | undefined
}

/** What is asked, and how. */
export type Asking = { query: ListingQuery; request: AskRequest }

/** What one question reads: the rows of the sources that answer it now, and why the others do not. */
export type Asked = {
  query: ListingQuery
  scope: Scope
  /** In the order of the configuration. */
  answers: readonly SourceAnswer[]
  /** By the number of its rows. */
  bySource: ReadonlyMap<number, Holding>
  /** Numbers of the rows of sources that are stale. */
  stale: ReadonlySet<number>
  /** Names and ranks of sources that may have listings which are not known here, the best first. */
  unknown: readonly { name: string; rank: number }[]
  /** Of its rows, and of what rules leave out. */
  version: string
  /** In ms. */
  startedAt: number
}

/** Waits for all that come within `ms`, or until the caller leaves. */
export async function awaitWithin(
  ms: number,
  caller: AbortSignal,
  waits: readonly Promise<unknown>[],
): Promise<void> {
  await withBudget(ms, caller, (signal) => raceAbort(Promise.all(waits), signal)).catch(() => {})
}

/** Rejects with `timeout` where the work takes longer than `ms`. */
export function withBudget<T>(
  ms: number,
  caller: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const timeoutError = () => new SourceError('timeout', `no answer within the budget of ${ms} ms`)
  return withDeadline({ ms, timeoutError, caller }, work)
}
