import type { Dispatcher } from 'undici'
import { SourceError } from '../../domain/source/source-error.ts'
import { type Attributes, traceHeaders } from '../../domain/trace.ts'
import { receive } from '../http/receive.ts'
import { type Interceptor, type UpstreamRequest, whenEnded } from '../http/request.ts'

/**
 * What every request to an upstream passes, as a dispatcher of undici.
 * @param attempts around each attempt: they see the request as it is sent, and by `read` the whole answer before anything else does
 * @param around the last one is the outermost
 */
export function composeRequests(
  agent: Dispatcher,
  attempts: readonly Interceptor[] = [],
  around: readonly Interceptor[] = [],
): Dispatcher {
  return agent.compose([receive, ...attempts, trace, ...around])
}

/** Traces requests of a traced query as OpenTelemetry's HTTP conventions do, and sends their trace context. */
const trace: Interceptor = (dispatch) => (request, handler) => {
  if (request.trace === undefined) return dispatch(request, handler)
  const span = request.trace.begin?.(request.method, 'client', attributesOf(request))
  const headers = { ...request.headers, ...traceHeaders(span ?? request.trace) }
  const read: UpstreamRequest['read'] = (response) => {
    span?.set({ 'http.response.status_code': response.status })
    request.read(response)
  }
  const end = (error: Error | null): void =>
    span?.end(error === null ? undefined : error instanceof SourceError ? error.reason : 'fault')
  return dispatch({ ...request, headers, read }, whenEnded(handler, end))
}

/** The query may have what a reader searches for. */
function attributesOf({ method, origin, path }: UpstreamRequest): Attributes {
  const url = new URL(path, origin)
  return {
    'http.request.method': method,
    'server.address': url.hostname,
    'server.port': Number(url.port) || (url.protocol === 'https:' ? 443 : 80),
    'url.full': `${url.origin}${url.pathname}`,
  }
}
