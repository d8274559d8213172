import { SourceError } from '../../domain/source-error.ts'
import type { UpstreamOptions } from '../../domain/upstream.ts'
import type { FetchPage } from '../page/fetch-page.ts'

/** Follows OpenTelemetry's HTTP conventions. */
export function traceCall(upstream: Pick<UpstreamOptions, 'url'>, fetch: FetchPage): FetchPage {
  const { hostname, port, protocol, href } = new URL(`${upstream.url}/listings`)
  const attributes = {
    'http.request.method': 'GET',
    'server.address': hostname,
    'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
    'url.full': href,
  }
  return async (query, request) => {
    if (query.trace?.begin === undefined) return fetch(query, request)
    const span = query.trace.begin('GET', 'client', attributes)
    try {
      const page = await fetch({ ...query, trace: span }, request)
      span.set({ 'http.response.status_code': 200, 'entrepot.source.items': page.items.length })
      span.end()
      return page
    } catch (error) {
      const reason = error instanceof SourceError ? error.reason : 'fault'
      const status = /^http_(\d+)$/.exec(reason)?.[1]
      if (status !== undefined) span.set({ 'http.response.status_code': Number(status) })
      span.end(reason)
      throw error
    }
  }
}
