import pLimit from 'p-limit'
import { SourceError } from '../../domain/source/source-error.ts'
import type { UpstreamOptions } from '../../domain/source/upstream.ts'
import type { FetchPage } from '../page/fetch-page.ts'

export const MAX_QUEUED = 1024

/** Beyond `MAX_QUEUED` waiting requests, a request fails as `budget_spent`. */
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
