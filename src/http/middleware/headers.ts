import type { Middleware } from '../request-state.ts'
import type { HandlerResponse } from '../route.ts'

/** No response may load, run, submit or be framed; our pages list what they need instead. */
const ALLOW_NOTHING = "default-src 'none';base-uri 'none';form-action 'none';frame-ancestors 'none'"

const EXPOSED = [
  'Changes-Position',
  'ETag',
  'Cache-Status',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'Server-Timing',
  'X-Request-Id',
].join(', ')

const PREFLIGHT_METHODS = 'GET, HEAD, POST, PUT, DELETE, OPTIONS'
const PREFLIGHT_SECONDS = '600'

/** TLS ends in front of this process: docs/security.md. */
export const COMMON_HEADERS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': EXPOSED,
  'Content-Security-Policy': ALLOW_NOTHING,
  // Any origin may read the market.
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
}

/** Any origin may read any answer, problems included, but without a browser's credentials. */
export function setHeaders(): Middleware {
  return ({ req, state }, next) => {
    state.headers = { ...COMMON_HEADERS, ...state.headers }
    const isPreflight = req.method === 'OPTIONS' && req.headers['access-control-request-method'] !== undefined
    if (!isPreflight) return next()
    state.response = preflight(req.headers['access-control-request-headers'])
    return Promise.resolve()
  }
}

/** `*` does not cover `Authorization` (Fetch standard, CORS protocol), so the names are listed. */
const preflight = (requested: string | undefined): HandlerResponse => ({
  headers: {
    'Access-Control-Allow-Methods': PREFLIGHT_METHODS,
    'Access-Control-Max-Age': PREFLIGHT_SECONDS,
    ...(requested !== undefined && { 'Access-Control-Allow-Headers': requested }),
    Vary: 'Access-Control-Request-Headers',
  },
  type: 'text/plain; charset=utf-8',
  body: 'OK',
})
