import { STATUS_CODES } from 'node:http'
import { EntrepotError } from '../../errors.ts'

export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8'

/** RFC 9457; `detail` is always a string. */
export type ProblemResponse = { status: number; headers: Record<string, string>; body: string }

export function toProblem(cause: unknown): ProblemResponse {
  if (cause instanceof EntrepotError) return render(cause)
  // Koa and Node refuse some requests with a 4xx, such as those with a broken percent-encoding.
  const status = (cause as { status?: unknown }).status
  if (typeof status === 'number' && status >= 400 && status < 500)
    return render(new EntrepotError('bad_request', 'The request could not be understood'))
  return render(new EntrepotError('internal', 'Internal Server Error'))
}

const render = ({ code, status, message, errors, members, headers }: EntrepotError): ProblemResponse => ({
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
    ...(errors.length > 0 ? { errors } : {}),
    ...members,
  }),
})
