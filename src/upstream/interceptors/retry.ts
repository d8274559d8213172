import type { Clock } from '../../domain/clock.ts'
import { traitsOf } from '../../domain/source/reasons.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import { type Interceptor, PURPOSES } from '../http/request.ts'

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
 * Retries once, where a second attempt as long as the first ends within `budgetMs`, and for at most a tenth of all requests.
 * Safe, since the requests that may be retried are GETs.
 */
export function retry({ budgetMs, clock, random, onRetry }: RetryOptions): Interceptor {
  let saved = MAX_SAVED_RETRIES
  return (dispatch) => (request, handler) => {
    if (!PURPOSES[request.purpose].isRetried) return dispatch(request, handler)
    const startedAt = clock.monotonic()
    saved = Math.min(saved + RETRY_SHARE, MAX_SAVED_RETRIES)
    return dispatch(request, {
      ...handler,
      onResponseError: (controller, error) => {
        const isInTime = 2 * (clock.monotonic() - startedAt) + MAX_RETRY_DELAY_MS <= budgetMs
        if (!(error instanceof SourceError) || !isTransient(error) || !isInTime || saved < 1)
          return handler.onResponseError?.(controller, error)
        saved--
        onRetry()
        clock.after(random() * MAX_RETRY_DELAY_MS, () => void dispatch(request, handler))
      },
    })
  }
}

function isTransient(error: SourceError): boolean {
  const isRetried = traitsOf(error.reason).retry === 'always' || isConnectTimeout(error)
  return isRetried && error.retryAfterMs === null
}

/** Nothing was sent yet, unlike in a timeout of the answer. */
function isConnectTimeout({ cause }: SourceError): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === 'UND_ERR_CONNECT_TIMEOUT'
}
