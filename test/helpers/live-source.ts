import type { Dispatcher } from 'undici'
import type { Source } from '../../src/domain/page.ts'
import type { UpstreamOptions } from '../../src/domain/upstream.ts'
import { fetchInTurn } from '../../src/upstream/fetch-in-turn.ts'
import { fetchListings } from '../../src/upstream/fetch-listings.ts'
import { readPrefix } from '../../src/upstream/read-prefix.ts'

/**
 * A Registry elsewhere that is asked anew for every query. All filters are sent to it, and every criterion is
 * evaluated again on what comes back.
 */
export const liveSource = (upstream: UpstreamOptions, agent: Dispatcher): Source => {
  const fetch = fetchInTurn(upstream, fetchListings(upstream, agent))
  return (query, signal) => readPrefix(upstream, fetch, query, signal)
}
