import pLimit from 'p-limit'
import { SourceError } from '../../domain/source-error.ts'
import type { UpstreamOptions } from '../../domain/upstream.ts'
import type { FetchPage } from '../page/fetch-page.ts'

/** Most requests to one upstream that are queued. */
export const MAX_QUEUED = 1024

/** At most `maxInFlight` requests at a time; beyond `MAX_QUEUED` waiting ones a request fails as `budget_spent`. */
export function limitConcurrency(
  { name, maxInFlight }: Pick<UpstreamOptions, 'name' | 'maxInFlight'>,
  fetch: FetchPage,
): FetchPage {
  const limit = pLimit(maxInFlight)
  return (query, request) =>
    limit.pendingCount >= MAX_QUEUED
      ? Promise.reject(new SourceError('budget_spent', `${name}: ${MAX_QUEUED} requests are queued`))
      : limit(fetch, query, request)
}
