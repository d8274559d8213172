import type { IncomingMessage, RequestListener } from 'node:http'
import { readTrace, type Span, type Trace, type Tracer } from '../domain/trace.ts'
import { recordedStatus } from './recorded-status.ts'

/** Where a request stands in a trace: as its caller says; `undefined` where it does not, or not well. */
export const traceOf = ({ headers }: IncomingMessage): Trace | undefined => {
  const { traceparent, tracestate } = headers
  return traceparent === undefined ? undefined : readTrace(String(traceparent), tracestate?.toString())
}

type TracedRequestsOptions = {
  tracer: Tracer
  /** The route that a request's target is of; `null` where it is none. */
  routeOf: (url: string) => string | null
}

/** Records every request, by the conventions of OpenTelemetry for HTTP servers. A query is nobody's business. */
export class TracedRequests {
  readonly #options: TracedRequestsOptions
  readonly #spans = new WeakMap<IncomingMessage, Span>()

  constructor(options: TracedRequestsOptions) {
    this.#options = options
  }

  /** The same as `traceOf`, of a request that has passed through here. */
  readonly traceOf = (request: IncomingMessage): Trace | undefined => this.#spans.get(request)

  listener(inner: RequestListener): RequestListener {
    const { tracer, routeOf } = this.#options
    return (request, response) => {
      const { method = 'GET', url = '' } = request
      const span = tracer(method, 'server', traceOf(request), {
        'http.request.method': method,
        'url.scheme': 'http',
        'url.path': url.split('?', 1)[0]!,
      })
      this.#spans.set(request, span)
      // A stream has as many listeners as Node takes without a warning.
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
  }
}
