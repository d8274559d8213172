import type { RouterMiddleware } from '@koa/router'
import Router from '@koa/router'
import Koa from 'koa'
import type { Reader } from '../domain/api-key.ts'
import { EntrepotError } from '../errors.ts'
import { decodeQuery } from '../filter-spec/query-string.ts'
import type { Logger } from '../log.ts'
import { readJsonBody } from './middleware/body.ts'
import { PROBLEM_TYPE, type ProblemResponse, toProblem } from './middleware/errors.ts'
import { setCommonHeaders } from './middleware/headers.ts'
import type { RateLimit } from './middleware/rate-limit.ts'
import { requestIdOf } from './middleware/request-log.ts'
import { recordedStatus, traceOf as traceOfHeaders } from './middleware/tracing.ts'
import type { ResponseCache } from './response-cache.ts'
import type { Gate, HandlerResponse, RequestContext, Route } from './route.ts'

export type AppOptions = {
  routes: readonly Route[]
  authorize: (gate: Gate, authorization: string | undefined) => Reader
  log: Logger
  responseCache: ResponseCache
  rateLimit: RateLimit
  traceOf?: typeof traceOfHeaders
}

export function createApp(options: AppOptions): Koa {
  const { routes, log, traceOf = traceOfHeaders } = options
  const app = new Koa()
  const router = new Router({ sensitive: true })
  for (const route of routes)
    router.register(route.path, [route.method.toLowerCase()], createHandler(route, options))
  app.use(setCommonHeaders)
  app.use(logRequests(log, traceOf))
  app.use(answerErrors(log))
  app.use(requireUrl)
  app.use(router.routes())
  app.use(answerUnrouted)
  app.on('error', (cause) => log.debug({ err: cause }, 'connection broke off'))
  return app
}

const createHandler =
  (
    route: Route,
    { authorize, rateLimit, responseCache, traceOf = traceOfHeaders }: AppOptions,
  ): RouterMiddleware =>
  async (context) => {
    const { req } = context
    if (route.path.includes(':')) requireDecodable(context.path)
    const reader = authorize(route.gate, req.headers.authorization)
    const counted = await (responseCache.counted(req) ?? rateLimit(req, route.gate, reader))
    if (counted !== null) context.set(counted)
    // After gate and limits: reading and parsing the body is the cost of a hostile request.
    const body = route.body === undefined ? null : await readJsonBody(context)
    const exchange: RequestContext = {
      params: context.params as Record<string, string>,
      path: context.path,
      queryString: context.querystring,
      get query() {
        return new Map(decodeQuery(context.querystring))
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
    const answer = await route.handle(exchange)
    respond(context, answer)
    const { body: bytes, isCurrent } = answer
    if (isCurrent !== undefined && bytes instanceof Buffer)
      responseCache.store(req, reader, { headers: context.res.getHeaders(), body: bytes, isCurrent })
  }

/** The router passes undecodable parameters on as they are, which could name another listing. */
function requireDecodable(path: string): void {
  try {
    decodeURIComponent(path)
  } catch {
    throw new EntrepotError('bad_request', 'The path holds a percent-encoding that is not UTF-8')
  }
}

function respond(
  context: Koa.Context,
  { status = 200, type = JSON_TYPE, body, headers = {} }: HandlerResponse,
): void {
  context.status = status
  for (const name in headers) context.set(name, headers[name]!)
  if (body === undefined) {
    // Koa would send the status text for `undefined`. `null` sets 204, so the status is set again.
    context.body = null
    context.status = status
    return
  }
  context.type = type
  context.body = body
}

const JSON_TYPE = 'application/json; charset=utf-8'

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

const CLIENT_CLOSED = new Error('the reader closed the connection')

const logRequests =
  (log: Logger, traceOf: typeof traceOfHeaders): Koa.Middleware =>
  async (context, next) => {
    const requestId = requestIdOf(context.req)
    context.set('X-Request-Id', requestId)
    if (!log.isLevelEnabled('info')) return next()
    const startedAt = performance.now()
    await next()
    const { method } = context
    const status = recordedStatus(context.res)
    const ms = Math.round(performance.now() - startedAt)
    const traceId = traceOf(context.req)?.traceId
    log[levelOf(method, status)]({ requestId, traceId, method, path: pathOf(context), status, ms }, 'request')
  }

function levelOf(method: string, status: number): 'debug' | 'info' | 'warn' {
  if (status >= 500) return 'warn'
  return (method === 'GET' || method === 'HEAD') && status < 400 ? 'debug' : 'info'
}

/** Without the query, which may be private. Koa's `path` throws for an invalid URL. */
const pathOf = ({ req }: Koa.Context): string => req.url!.split('?', 1)[0]!

/** Every error becomes a problem; internal details go only to the log. */
const answerErrors =
  (log: Logger): Koa.Middleware =>
  async (context, next) => {
    try {
      await next()
    } catch (cause) {
      if (cause === CLIENT_CLOSED) return
      const problem: ProblemResponse = toProblem(cause)
      if (problem.status >= 500 && !(cause instanceof EntrepotError))
        log.error({ err: cause, method: context.method, path: pathOf(context) }, 'unhandled fault')
      context.status = problem.status
      context.set(problem.headers)
      context.type = PROBLEM_TYPE
      context.body = problem.body
    }
  }

/** Node accepts request targets such as `http://[`, which Koa cannot parse. */
const requireUrl: Koa.Middleware = (context, next) => {
  try {
    context.path
  } catch (cause) {
    throw new EntrepotError('bad_request', 'The request target is no URL', { cause })
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
