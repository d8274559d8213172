import { EntrepotError } from '../../errors.ts'
import { STATUS_CODES } from '../node-http.ts'
import type { Middleware } from '../request-state.ts'

export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8'

/** Why a request's signal is aborted when its connection closes; nothing is answered then. */
export const CLIENT_CLOSED = new Error('the client closed the connection')

/** Every error becomes a problem. */
export function answerErrors(): Middleware {
  return async ({ state }, next) => {
    try {
      await next()
    } catch (cause) {
      if (cause === CLIENT_CLOSED) return
      state.problem = toError(cause)
      state.response = { type: PROBLEM_TYPE, ...renderProblem(state.problem) }
    }
  }
}

/** Internal details are only in the cause. */
function toError(cause: unknown): EntrepotError {
  if (cause instanceof EntrepotError) return cause
  // Koa and Node refuse some requests with a 4xx, such as those with a broken percent-encoding.
  const status = (cause as { status?: unknown }).status
  if (typeof status === 'number' && status >= 400 && status < 500)
    return new EntrepotError('bad_request', 'The request could not be understood', { cause })
  return new EntrepotError('internal', 'Internal Server Error', { cause })
}

/** RFC 9457; `detail` is always a string. */
export const renderProblem = ({ code, status, message, errors, members, headers }: EntrepotError) => ({
  status,
  // Errors may be temporary, and caches would keep some of them (RFC 9110 section 15.1).
  headers: {
    'Cache-Control': 'no-store',
    ...(status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {}),
    ...headers,
  },
  body: JSON.stringify({
    type: `urn:entrepot:problem:${code}`,
    title: STATUS_CODES[status],
    status,
    detail: message,
    errors: errors.length > 0 ? errors : undefined,
    ...members,
  }),
})
