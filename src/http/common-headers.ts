import type Koa from 'koa'
import { EVERY_ANSWER, EVERY_PAGE, type FixedHeaders } from './security-headers.ts'

const EXPOSED = [
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

export const COMMON_HEADERS: FixedHeaders = [
  ['Access-Control-Allow-Origin', '*'],
  ['Access-Control-Expose-Headers', EXPOSED],
  ...EVERY_ANSWER,
]

/** Any origin may read any answer, problems included, but without a browser's credentials. */
export const setCommonHeaders: Koa.Middleware = async (context, next) => {
  const { req, res } = context
  for (const [name, value] of COMMON_HEADERS) res.setHeader(name, value)
  if (req.method === 'OPTIONS' && req.headers['access-control-request-method'] !== undefined)
    return answerPreflight(context)
  await next()
  if (context.type === 'text/html') for (const [name, value] of EVERY_PAGE) res.setHeader(name, value)
}

function answerPreflight(context: Koa.Context): void {
  const { req, res } = context
  res.setHeader('Access-Control-Allow-Methods', PREFLIGHT_METHODS)
  res.setHeader('Access-Control-Max-Age', PREFLIGHT_SECONDS)
  // `*` does not cover `Authorization` (Fetch standard, CORS protocol), so the names are listed.
  const asked = req.headers['access-control-request-headers']
  if (asked !== undefined) res.setHeader('Access-Control-Allow-Headers', asked)
  res.setHeader('Vary', 'Access-Control-Request-Headers')
  context.status = 200
  context.type = 'text/plain; charset=utf-8'
  context.body = 'OK'
}
