import type { IncomingMessage, ServerResponse } from 'node:http'
import { redactCredentials } from '../../domain/safe-text.ts'
import { readTrace, type Trace, type Tracer } from '../../domain/trace.ts'
import type { Middleware } from '../request-state.ts'
import { routePathOf } from './router.ts'

/** As in nginx; RFC 9110 has no code for it. */
const CLIENT_CLOSED_REQUEST = 499

/** 499 if the connection closed before the complete response was sent. */
export function recordedStatus({ destroyed, socket, writableFinished, statusCode }: ServerResponse): number {
  // A response is destroyed some turns after its socket.
  const isClosed = destroyed || socket?.destroyed === true
  return isClosed && !writableFinished ? CLIENT_CLOSED_REQUEST : statusCode
}

/** Without the query, which may be private. Koa's `path` throws for an invalid URL; that of a proxy request is absolute. */
export const recordedPath = (url: string): string => redactCredentials(url.split('?', 1)[0]!)

/** A span for each request by OpenTelemetry's conventions for HTTP servers, within the caller's trace. */
export function traceRequests(tracer: Tracer | null): Middleware {
  return (context, next) => {
    const { req, res, state, method } = context
    const parent = traceOf(req)
    if (tracer === null) {
      state.trace = parent
      return next()
    }
    const span = tracer(method, 'server', parent, {
      'http.request.method': method,
      'url.scheme': 'http',
      'url.path': recordedPath(req.url!),
    })
    state.trace = span
    // Streams already use all listeners that Node allows without a warning.
    res.setMaxListeners(res.getMaxListeners() + 1)
    res.once('close', () => {
      const status = recordedStatus(res)
      const route = routePathOf(context)
      if (route !== undefined) span.rename(`${method} ${route}`)
      span.set({
        'http.response.status_code': status,
        ...(route === undefined ? {} : { 'http.route': route }),
      })
      span.end(status >= 500 ? String(status) : res.writableFinished ? undefined : 'hung_up')
    })
    return next()
  }
}

/** The caller's trace; `undefined` if absent or malformed. */
function traceOf({ headers }: IncomingMessage): Trace | undefined {
  const { traceparent, tracestate } = headers
  return traceparent === undefined ? undefined : readTrace(String(traceparent), tracestate?.toString())
}
