import type { ExecutionContext } from 'ava'
import type { Cache } from '../../src/cache/cache.ts'
import { LruCache } from '../../src/cache/lru.ts'
import type { Clock } from '../../src/domain/clock.ts'
import type { Page } from '../../src/domain/page.ts'
import type { ListingQuery } from '../../src/domain/query.ts'
import type { UpstreamOptions } from '../../src/domain/upstream.ts'
import { CachedPages } from '../../src/gateway/cached.ts'
import { createAgent } from '../../src/upstream/agent.ts'
import { fetchInTurn } from '../../src/upstream/fetch-in-turn.ts'
import { type FetchListings, fetchListings } from '../../src/upstream/fetch-listings.ts'
import { type ListingPage, retainedBytes } from '../../src/upstream/listing-page.ts'
import { readPrefix } from '../../src/upstream/read-prefix.ts'
import { type FakeOptions, type FakeRegistry, startFakeRegistry } from '../helpers/fake-registry.ts'
import { type ManualClock, manualClock } from '../helpers/manual-clock.ts'
import { upstreamOptions } from '../upstream/upstream-options.ts'
import { listingQuery } from './gateway-parts.ts'

export const POLICY = { freshSeconds: 15, staleWhileRevalidateSeconds: 60, staleIfErrorSeconds: 900 }
/** Past these a page is no longer fresh, no longer shown without waiting, no longer kept. */
export const PAST_FRESH = 15_000
export const PAST_WAIT = 75_000
export const PAST_DELETE = 915_000

export type Ask = (query?: Partial<ListingQuery>, signal?: AbortSignal) => Promise<Page>

/** The pages of an upstream, kept at a clock of the test and without jitter. */
export const keepPages = (
  t: ExecutionContext,
  upstream: UpstreamOptions,
  { clock, cache = pageCache(clock) }: { clock: Clock; cache?: Cache<ListingPage> },
): { pages: CachedPages; ask: Ask } => {
  const pages = new CachedPages({
    upstream,
    fetch: fetchOver(t, upstream),
    cache,
    policy: POLICY,
    flightMs: 3 * upstream.timeoutMs,
    clock,
    random: () => 0.5,
  })
  const ask: Ask = (query, signal = new AbortController().signal) =>
    readPrefix(upstream, pages.fetch, listingQuery(query), signal)
  return { pages, ask }
}

export const fetchOver = (t: ExecutionContext, upstream: UpstreamOptions): FetchListings => {
  const agent = createAgent(upstream)
  t.teardown(() => agent.destroy())
  return fetchInTurn(upstream, fetchListings(upstream, agent))
}

export const pageCache = (clock: Clock): Cache<ListingPage> =>
  new LruCache({ maxBytes: 2 ** 24, sizeOf: retainedBytes, now: clock.now })

/** A fake Registry, and a clock that stands still. */
export const startUpstream = async (
  t: ExecutionContext,
  options: FakeOptions = {},
  upstream: Partial<UpstreamOptions> = {},
): Promise<{ fake: FakeRegistry; clock: ManualClock; options: UpstreamOptions }> => {
  const fake = await startFakeRegistry(options)
  t.teardown(fake.close)
  return { fake, clock: manualClock(), options: upstreamOptions({ url: fake.url, ...upstream }) }
}

/** Settles when `holds` does, which something under way in the background is to bring about. */
export const eventually = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve))
}
