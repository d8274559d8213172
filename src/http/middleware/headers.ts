import type { IncomingMessage, ServerResponse } from 'node:http'
import helmet from 'helmet'
import type Koa from 'koa'

type FixedHeaders = readonly (readonly [name: string, value: string])[]

/** No response may load, run, submit or be framed; our pages list what they need instead. */
const ALLOW_NOTHING = {
  defaultSrc: ["'none'"],
  baseUri: ["'none'"],
  formAction: ["'none'"],
  frameAncestors: ["'none'"],
}

/** `cross-origin`, because any origin may read the market. TLS ends in front of this process: docs/security.md. */
const RESPONSE_HEADERS = headersOf(
  helmet.contentSecurityPolicy({ useDefaults: false, directives: ALLOW_NOTHING }),
  helmet.crossOriginResourcePolicy({ policy: 'cross-origin' }),
  helmet.referrerPolicy(),
  helmet.xContentTypeOptions(),
)

/** Isolates pages from other origins' windows, and prevents DNS lookups of sellers' hosts. */
const PAGE_HEADERS = headersOf(
  helmet.crossOriginOpenerPolicy({ policy: 'same-origin' }),
  helmet.originAgentCluster(),
  helmet.xDnsPrefetchControl({ allow: false }),
  helmet.xFrameOptions({ action: 'deny' }),
)

type Helmet = (request: IncomingMessage, response: ServerResponse, next: () => void) => void

/** Computed once rather than for every request. */
function headersOf(...middlewares: readonly Helmet[]): FixedHeaders {
  const headers: [name: string, value: string][] = []
  const recording = { setHeader: (name: string, value: string) => headers.push([name, value]) }
  for (const middleware of middlewares)
    middleware({} as IncomingMessage, recording as unknown as ServerResponse, () => {})
  return headers
}

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
  ...RESPONSE_HEADERS,
]

/** Any origin may read any answer, problems included, but without a browser's credentials. */
export const setCommonHeaders: Koa.Middleware = async (context, next) => {
  const { req, res } = context
  for (const [name, value] of COMMON_HEADERS) res.setHeader(name, value)
  if (req.method === 'OPTIONS' && req.headers['access-control-request-method'] !== undefined)
    return answerPreflight(context)
  await next()
  if (context.type === 'text/html') for (const [name, value] of PAGE_HEADERS) res.setHeader(name, value)
}

function answerPreflight(context: Koa.Context): void {
  const { req, res } = context
  res.setHeader('Access-Control-Allow-Methods', PREFLIGHT_METHODS)
  res.setHeader('Access-Control-Max-Age', PREFLIGHT_SECONDS)
  // `*` does not cover `Authorization` (Fetch standard, CORS protocol), so the names are listed.
  const requested = req.headers['access-control-request-headers']
  if (requested !== undefined) res.setHeader('Access-Control-Allow-Headers', requested)
  res.setHeader('Vary', 'Access-Control-Request-Headers')
  context.status = 200
  context.type = 'text/plain; charset=utf-8'
  context.body = 'OK'
}
