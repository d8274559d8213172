import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { redactCredentials } from '../../domain/safe-text.ts'
import { readTrace, type Span, type Trace, type Tracer } from '../../domain/trace.ts'

/** As in nginx; RFC 9110 has no code for it. */
const CLIENT_CLOSED_REQUEST = 499

/** 499 if the connection closed before the complete response was sent. */
export function recordedStatus({ destroyed, socket, writableFinished, statusCode }: ServerResponse): number {
  // A response is destroyed some turns after its socket.
  const isClosed = destroyed || socket?.destroyed === true
  return isClosed && !writableFinished ? CLIENT_CLOSED_REQUEST : statusCode
}

/** Without the query, which may be private. Koa's `path` throws for an invalid URL; that of a proxy request is absolute. */
export const recordedPath = ({ url }: IncomingMessage): string => redactCredentials(url!.split('?', 1)[0]!)

/** The caller's trace; `undefined` if absent or malformed. */
export function traceOf({ headers }: IncomingMessage): Trace | undefined {
  const { traceparent, tracestate } = headers
  return traceparent === undefined ? undefined : readTrace(String(traceparent), tracestate?.toString())
}

/** Follows OpenTelemetry's conventions for HTTP servers. */
export function traceRequests(tracer: Tracer, routeOf: (url: string) => string | null) {
  const spans = new WeakMap<IncomingMessage, Span>()
  const listener =
    (inner: RequestListener): RequestListener =>
    (request, response) => {
      const { method = 'GET', url = '' } = request
      const span = tracer(method, 'server', traceOf(request), {
        'http.request.method': method,
        'url.scheme': 'http',
        'url.path': recordedPath(request),
      })
      spans.set(request, span)
      // Streams already use all listeners that Node allows without a warning.
      response.setMaxListeners(response.getMaxListeners() + 1)
      response.once('close', () => {
        const status = recordedStatus(response)
        const route = routeOf(url)
        if (route !== null) span.rename(`${method} ${route}`)
        span.set({
          'http.response.status_code': status,
          ...(route === null ? {} : { 'http.route': route }),
        })
        span.end(status >= 500 ? String(status) : response.writableFinished ? undefined : 'hung_up')
      })
      inner(request, response)
    }
  return { listener, traceOf: (request: IncomingMessage): Trace | undefined => spans.get(request) }
}
