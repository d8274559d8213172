import type { IncomingMessage, ServerResponse } from 'node:http'
import type { HelmetOptions } from 'helmet'
import helmet from 'helmet'
import type Koa from 'koa'

type FixedHeaders = readonly (readonly [name: string, value: string])[]

/** Helmet's headers, computed once rather than for every request. */
function headersOf(options: HelmetOptions): FixedHeaders {
  const set = new Map<string, string>()
  const recording: Pick<ServerResponse, 'setHeader' | 'removeHeader'> = {
    setHeader(name, value) {
      set.set(name, String(value))
      return recording as ServerResponse
    },
    removeHeader: (name) => void set.delete(name),
  }
  helmet(options)({} as IncomingMessage, recording as ServerResponse, (cause) => {
    if (cause !== undefined) throw cause
  })
  return [...set]
}

/** Headers that matter only for pages, or only in browsers that are no longer in use. */
const OMITTED = {
  // TLS ends in front of this process (RFC 6797 section 7.2): docs/security.md.
  strictTransportSecurity: false,
  crossOriginEmbedderPolicy: false,
  crossOriginOpenerPolicy: false,
  originAgentCluster: false,
  xDnsPrefetchControl: false,
  xDownloadOptions: false,
  xFrameOptions: false,
  xPermittedCrossDomainPolicies: false,
  xPoweredBy: false,
  xXssProtection: false,
} as const satisfies HelmetOptions

/** No response may load, run, submit or be framed; our pages list what they need instead. */
const ALLOW_NOTHING = {
  defaultSrc: ["'none'"],
  baseUri: ["'none'"],
  formAction: ["'none'"],
  frameAncestors: ["'none'"],
}

/** `cross-origin`, because any origin may read the market. */
const RESPONSE_HEADERS: FixedHeaders = headersOf({
  ...OMITTED,
  contentSecurityPolicy: { useDefaults: false, directives: ALLOW_NOTHING },
  crossOriginResourcePolicy: { policy: 'cross-origin' },
})

/** Isolates pages from other origins' windows, and prevents DNS lookups of sellers' hosts. */
const PAGE_HEADERS: FixedHeaders = headersOf({
  ...OMITTED,
  contentSecurityPolicy: false,
  crossOriginResourcePolicy: false,
  referrerPolicy: false,
  xContentTypeOptions: false,
  crossOriginOpenerPolicy: { policy: 'same-origin' },
  originAgentCluster: true,
  xDnsPrefetchControl: { allow: false },
  xFrameOptions: { action: 'deny' },
})

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
