import pLimit from 'p-limit'
import type { Dispatcher } from 'undici'
import { untilAborted } from '../domain/deadline.ts'
import type { Source } from '../domain/page.ts'
import type { UpstreamOptions } from '../domain/upstream.ts'
import { type FetchListings, fetchListings } from './fetch-listings.ts'
import { readPrefix } from './read-prefix.ts'

/**
 * A Registry elsewhere that is asked anew for every query. All filters are sent to it, and every criterion is
 * evaluated again on what comes back. At most `maxInFlight` requests at once, those that wait included in the
 * caller's time but not in `timeoutMs`.
 */
export const liveSource = (upstream: UpstreamOptions, agent: Dispatcher): Source => {
  const inFlight = pLimit(upstream.maxInFlight)
  const fetch = fetchListings(upstream, agent)
  const fetchInTurn: FetchListings = (query, offset, signal) => {
    const turn = async () => {
      signal.throwIfAborted()
      return fetch(query, offset, signal)
    }
    return untilAborted(inFlight(turn), signal)
  }
  return (query, signal) => readPrefix(upstream, fetchInTurn, query, signal)
}
