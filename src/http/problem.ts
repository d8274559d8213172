import { STATUS_CODES } from 'node:http'
import { EntrepotError } from '../errors.ts'

export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8'

/** An error as a response: RFC 9457, with `detail` always a string. */
export type Problem = { status: number; headers: Record<string, string>; body: string }

export const problemOf = (cause: unknown): Problem => {
  if (cause instanceof EntrepotError) return render(cause)
  // Koa and Node refuse some requests themselves (a broken percent-encoding, say) with a status below 500.
  const status = (cause as { status?: unknown }).status
  if (typeof status === 'number' && status >= 400 && status < 500)
    return render(new EntrepotError('bad_request', 'The request could not be understood'))
  return render(new EntrepotError('internal', 'Internal Server Error'))
}

const render = ({ code, status, message, errors, members, headers }: EntrepotError): Problem => ({
  status,
  // What went wrong now may go well next time, and some refusals would else be kept (RFC 9110 section 15.1).
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
