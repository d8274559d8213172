import { SourceError } from '../domain/source-error.ts'
import type { UpstreamOptions } from '../domain/upstream.ts'
import type { FetchListings } from './fetch-listings.ts'

/**
 * Records each request to an upstream where the question's trace is recorded, by the conventions of OpenTelemetry for
 * HTTP clients; the upstream's own work stands under it. What is asked is told by its path, less the query.
 */
export const tracedFetch = (upstream: Pick<UpstreamOptions, 'url'>, fetch: FetchListings): FetchListings => {
  const { hostname, port, protocol, href } = new URL(`${upstream.url}/listings`)
  const attributes = {
    'http.request.method': 'GET',
    'server.address': hostname,
    'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
    'url.full': href,
  }
  return async (query, offset, signal) => {
    if (query.trace?.begin === undefined) return fetch(query, offset, signal)
    const span = query.trace.begin('GET', 'client', attributes)
    try {
      const page = await fetch({ ...query, trace: span }, offset, signal)
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
