import Router, { type RouterMiddleware } from '@koa/router'
import Koa from 'koa'
import { EntrepotError } from '../errors.ts'
import { decodeQuery } from '../filter-spec/parameters.ts'
import type { Logger } from '../log.ts'
import { namesEtag } from './etag.ts'
import { readJsonBody } from './middleware/body.ts'
import { compress } from './middleware/compression.ts'
import { CLIENT_CLOSED } from './middleware/errors.ts'
import { setCommonHeaders } from './middleware/headers.ts'
import type { RateLimit } from './middleware/rate-limit.ts'
import { type OnAnswered, observeRequests } from './middleware/request-log.ts'
import { traceOf as traceOfHeaders } from './middleware/tracing.ts'
import type { ResponseCache } from './response-cache.ts'
import type { Authorize, HandlerResponse, RequestContext, Route } from './route.ts'

type AppOptions = {
  routes: readonly Route[]
  authorize: Authorize
  log: Logger
  onAnswered?: OnAnswered
  responseCache: ResponseCache
  rateLimit: RateLimit
  traceOf?: typeof traceOfHeaders
}

export function createApp({ traceOf = traceOfHeaders, onAnswered = () => {}, ...options }: AppOptions): Koa {
  const { routes, log } = options
  const app = new Koa()
  const router = new Router({ sensitive: true })
  for (const route of routes)
    router.register(route.path, [route.method.toLowerCase()], createHandler(route, { ...options, traceOf }))
  app.use(setCommonHeaders)
  app.use(observeRequests(onAnswered, traceOf))
  app.use(requireUrl)
  app.use(router.routes())
  app.use(answerUnrouted)
  app.on('error', (cause) => log.debug({ err: cause }, 'connection closed early'))
  return app
}

type HandlerOptions = Omit<Required<AppOptions>, 'routes' | 'log' | 'onAnswered'>

const createHandler =
  (route: Route, { authorize, rateLimit, responseCache, traceOf }: HandlerOptions): RouterMiddleware =>
  async (context) => {
    const { req } = context
    if (route.path.includes(':')) requireDecodable(context.path)
    const reader = authorize(route.gate, req.headers.authorization)
    const limits = await (responseCache.counted(req) ?? rateLimit(req, route.gate, reader))
    if (limits !== null) context.set(limits)
    // After gate and limits: reading and parsing the body is the cost of a hostile request.
    const body = route.body === undefined ? null : await readJsonBody(context)
    const request: RequestContext = {
      params: context.params as Record<string, string>,
      path: context.path,
      queryString: context.querystring,
      get query() {
        return Object.fromEntries(decodeQuery(context.querystring))
      },
      header: (name) => (req.headers[name] === undefined ? undefined : req.headersDistinct[name]?.[0]),
      listHeader: (name) => req.headersDistinct[name]?.join(', '),
      reader,
      body,
      get signal() {
        return closeSignal(context)
      },
      get trace() {
        return traceOf(req)
      },
    }
    const response = await route.handle(request)
    const { isCurrent } = response
    respond(context, response)
    const plain = context.body
    const gzipped = await compress(context, response)
    const headers = context.res.getHeaders()
    if (isCurrent !== undefined && plain instanceof Buffer)
      responseCache.store(req, reader, { headers, body: plain, gzipped, isCurrent })
  }

/** The router passes undecodable parameters on as they are, which could name another listing. */
function requireDecodable(path: string): void {
  try {
    decodeURIComponent(path)
  } catch {
    throw new EntrepotError('bad_request', 'The path has a percent-encoding that is not UTF-8')
  }
}

function closeSignal({ res }: Koa.Context): AbortSignal {
  const controller = new AbortController()
  const abort = (): void => controller.abort(CLIENT_CLOSED)
  if (res.destroyed) abort()
  else
    res.once('close', () => {
      if (!res.writableFinished) abort()
    })
  return controller.signal
}

function respond(
  context: Koa.Context,
  { status = 200, type = JSON_TYPE, body, headers = {} }: HandlerResponse,
) {
  for (const name in headers) context.set(name, headers[name]!)
  const { ETag: etag } = headers
  // Koa's `fresh` would ignore If-None-Match beside `Cache-Control: no-cache`, which means the upstreams here.
  const isKnown = status === 200 && etag !== undefined && namesEtag(context.get('If-None-Match'), etag)
  if (body === undefined || isKnown) {
    // `null` sets 204, so the status is set after it. `undefined` would send the status text.
    context.body = null
    context.status = isKnown ? 304 : status
    return
  }
  context.status = status
  context.type = type
  context.body = body
}

const JSON_TYPE = 'application/json; charset=utf-8'

/** Node accepts request targets such as `http://[`, which Koa cannot parse. */
const requireUrl: Koa.Middleware = (context, next) => {
  try {
    context.path
  } catch (cause) {
    throw new EntrepotError('bad_request', 'The request target is not a valid URL', { cause })
  }
  return next()
}

/** No route answered. `OPTIONS` lists the path's methods (RFC 9110 section 9.3.7). */
const answerUnrouted: Koa.Middleware = (context) => {
  const matched = (context.matched ?? []) as { methods: string[] }[]
  if (matched.length === 0) throw new EntrepotError('not_found', 'Not Found')
  const methods = new Set(['OPTIONS', ...matched.flatMap(({ methods }) => methods)])
  const headers = { Allow: [...methods].sort().join(', ') }
  if (context.method === 'OPTIONS') respond(context, { status: 204, headers })
  else throw new EntrepotError('method_not_allowed', 'Method Not Allowed', { headers })
}
