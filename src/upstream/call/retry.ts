import type { Clock } from '../../domain/clock.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import type { SourceReason } from '../../domain/source/source-reason.ts'
import type { FetchPage } from '../page/fetch-page.ts'

export const MAX_RETRY_DELAY_MS = 100
export const RETRY_SHARE = 0.1
/** Also available at the start. */
export const MAX_SAVED_RETRIES = 5

type RetryOptions = {
  budgetMs: number
  clock: Clock
  random: () => number
  onRetry: () => void
}

/**
 * Retries once, where a second attempt as long as the first ends within `budgetMs`, and for at most a tenth
 * of all calls. Safe, since every call is a GET.
 */
export function retry({ budgetMs, clock, random, onRetry }: RetryOptions, fetch: FetchPage): FetchPage {
  let saved = MAX_SAVED_RETRIES
  return async (query, request) => {
    const started = clock.now()
    saved = Math.min(saved + RETRY_SHARE, MAX_SAVED_RETRIES)
    try {
      return await fetch(query, request)
    } catch (error) {
      const isInTime = 2 * (clock.now() - started) + MAX_RETRY_DELAY_MS <= budgetMs
      if (!(error instanceof SourceError) || !isTransient(error) || !isInTime || saved < 1) throw error
      saved--
      onRetry()
      await new Promise<void>((resolve) => clock.after(random() * MAX_RETRY_DELAY_MS, resolve))
      return fetch(query, request)
    }
  }
}

function isTransient(error: SourceError): boolean {
  return error.retryAfterMs === null && (TRANSIENT.has(error.reason) || isConnectTimeout(error))
}

const TRANSIENT: ReadonlySet<SourceReason> = new Set([
  'connection_refused',
  'connection_reset',
  'http_502',
  'http_503',
  'http_504',
])

/** Nothing was sent yet, unlike in a timeout of the answer. */
function isConnectTimeout({ cause }: SourceError): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === 'UND_ERR_CONNECT_TIMEOUT'
}
