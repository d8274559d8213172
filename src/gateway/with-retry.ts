import { DelegateBackoff, handleWhen, retry } from 'cockatiel'
import type { Clock } from '../domain/clock.ts'
import { SourceError, type SourceReason } from '../domain/source-error.ts'
import type { FetchListings } from '../upstream/fetch-listings.ts'
import { RetryBudget } from './retry-budget.ts'

/** Longest wait before the second attempt; how long it really is, chance decides. */
export const MAX_RETRY_DELAY_MS = 100

export type RetryOptions = {
  /** Time in which both attempts have to fit. */
  budgetMs: number
  clock: Clock
  /** From 0 to 1. */
  random: () => number
  onRetry: () => void
}

/**
 * Asks a second time where the first attempt met a connection that failed or a 502, 503 or 504: once, after a short
 * wait of random length, only where an attempt as long as the first would still end within `budgetMs`, and never for
 * more than a tenth of all calls. Every call is a GET, so asking twice does nothing twice.
 */
export const withRetry = (
  fetch: FetchListings,
  { budgetMs, clock, random, onRetry }: RetryOptions,
): FetchListings => {
  const budget = new RetryBudget()
  const repeatable = new WeakSet<Error>()
  const backoff = new DelegateBackoff(() => random() * MAX_RETRY_DELAY_MS)
  const policy = retry(
    handleWhen((error) => repeatable.has(error)),
    { maxAttempts: 1, backoff },
  )
  policy.onRetry(onRetry)

  return (query, offset, signal) => {
    const started = clock.now()
    budget.earn()
    const mayRepeat = (error: SourceError): boolean => {
      const again = 2 * (clock.now() - started) + MAX_RETRY_DELAY_MS
      return isPassing(error) && again <= budgetMs && budget.spend()
    }
    const attemptOnce = async ({ attempt }: { attempt: number }) => {
      try {
        return await fetch(query, offset, signal)
      } catch (error) {
        const isFirst = attempt === 0 && !signal.aborted
        if (isFirst && error instanceof SourceError && mayRepeat(error)) repeatable.add(error)
        throw error
      }
    }
    return policy.execute(attemptOnce, signal)
  }
}

/** May be over in a moment. Who says when to come back is not asked before. */
const isPassing = (error: SourceError): boolean =>
  error.retryAfterMs === null && (PASSING.has(error.reason) || isConnectTimeout(error))

const PASSING: ReadonlySet<SourceReason> = new Set([
  'connection_refused',
  'connection_reset',
  'http_502',
  'http_503',
  'http_504',
])

/** Nothing was sent yet: unlike an answer that does not come, that is a connection which failed. */
const isConnectTimeout = ({ cause }: SourceError): boolean =>
  cause instanceof Error && 'code' in cause && cause.code === 'UND_ERR_CONNECT_TIMEOUT'
