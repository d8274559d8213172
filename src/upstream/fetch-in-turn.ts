import pLimit from 'p-limit'
import { untilAborted } from '../domain/deadline.ts'
import { SourceError } from '../domain/source-error.ts'
import type { UpstreamOptions } from '../domain/upstream.ts'
import type { FetchListings } from './fetch-listings.ts'

/** Most requests to one upstream that wait for their turn. */
export const MAX_WAITING = 1024

/**
 * At most `maxInFlight` requests at once. What waits for its turn does so in the caller's time, not in `timeoutMs`;
 * beyond `MAX_WAITING` of them a request is refused as `budget_spent`.
 */
export const fetchInTurn = (
  { name, maxInFlight }: Pick<UpstreamOptions, 'name' | 'maxInFlight'>,
  fetch: FetchListings,
): FetchListings => {
  const inFlight = pLimit(maxInFlight)
  return async (query, offset, signal) => {
    if (inFlight.pendingCount >= MAX_WAITING)
      throw new SourceError('budget_spent', `${name}: ${MAX_WAITING} requests are waiting already`)
    const turn = async () => {
      signal.throwIfAborted()
      return fetch(query, offset, signal)
    }
    return untilAborted(inFlight(turn), signal)
  }
}
