import type { Cache } from '../cache/cache.ts'
import type { Notice } from '../domain/breaker.ts'
import type { Clock } from '../domain/clock.ts'
import type { KeepingPolicy } from '../domain/freshness.ts'
import type { NamedSource, Source } from '../domain/page.ts'
import { SourceError } from '../domain/source-error.ts'
import type { SourceLog } from '../domain/source-log.ts'
import type { SourceDetails } from '../domain/source-status.ts'
import type { UpstreamOptions } from '../domain/upstream.ts'
import type { UpstreamSpec } from '../filter-spec/upstream-spec.ts'
import type { FetchListings } from '../upstream/fetch-listings.ts'
import type { ListingPage } from '../upstream/listing-page.ts'
import type { SpecKeeper } from '../upstream/spec-keeper.ts'
import { CachedPages } from './cached.ts'
import { CallRecord } from './call-record.ts'
import { planned } from './plan.ts'
import type { SpecSource } from './vocabulary.ts'
import { Guard } from './with-breaker.ts'
import { withRetry } from './with-retry.ts'

/** One upstream put together, as the gateway asks it and as its operator sees it. */
export type UpstreamSource = {
  source: NamedSource
  spec: SpecSource
  /** One page past the cache: for who keeps answers otherwise. */
  fetch: FetchListings
  /** Throws a `SourceError` while it is to be left alone, whatever it would be asked for. */
  refuse: () => void
  status: () => SourceDetails
  /** Forgets what it has said, so that the next query asks it anew. */
  refresh: () => void
  /** Ends what it does in the background. */
  close: () => void
}

export type UpstreamParts = {
  upstream: UpstreamOptions
  /** One request for one page. */
  fetch: FetchListings
  /** Makes a source of pages, whoever brings them. */
  read: (fetch: FetchListings) => Source
  /** What is known of its filter spec. */
  vocabulary: SpecKeeper
  /** Schema id that it has to declare, if it declares any; `null` asks it in any case. */
  schema: string | null
  /** Shared by all upstreams. */
  cache: Cache<ListingPage>
  policy: KeepingPolicy
  /** Where replicas tell each other that it is to be left alone; absent where there is one only. */
  notice?: Notice | null
  /** Where changes of its state are told; absent: nowhere. */
  log?: SourceLog
  /** Time that a reader waits for the whole answer. */
  budgetMs: number
  clock: Clock
  /** From 0 to 1. */
  random: () => number
}

/** A page is fetched for this many times `timeoutMs` at most: two attempts, and the wait for its turn. */
const ATTEMPTS_AND_WAIT = 3

/** Who has waited in vain for the filter spec is told so, and shown what is kept. */
const notTwice =
  (name: string, vocabulary: SpecKeeper, fetch: FetchListings): FetchListings =>
  async (query, offset, signal) => {
    if (query.criteria.length > 0 && vocabulary.isJustLate)
      throw new SourceError('timeout', `${name}: it did not tell its filters in time`)
    return fetch(query, offset, signal)
  }

/** Puts one upstream together: fetch → retry → breaker → cache → plan → Source. */
export const createUpstreamSource = (parts: UpstreamParts): UpstreamSource => {
  const {
    upstream,
    fetch,
    read,
    vocabulary,
    schema,
    cache,
    policy,
    notice = null,
    log,
    budgetMs,
    clock,
    random,
  } = parts
  const { name, kind, visibility, priority, timeoutMs } = upstream
  const record = new CallRecord()
  const counted = record.counting(fetch, clock.now)
  const retried = withRetry(counted, { budgetMs, clock, random, onRetry: () => record.addRetry() })
  const guard = new Guard({ name, fetch: retried, probe: counted, log, notice, clock, random })
  const pages = new CachedPages({
    upstream,
    fetch: notTwice(name, vocabulary, guard.fetch),
    cache,
    policy,
    flightMs: ATTEMPTS_AND_WAIT * timeoutMs,
    clock,
    random,
  })

  const plan = planned({ name, spec: vocabulary, schema })

  const ageSeconds = (): number | null =>
    record.answeredAt === null ? null : (clock.now() - record.answeredAt) / 1000
  const state = (): SourceDetails['state'] => {
    if (record.isAnswering === null) return 'not_yet_loaded'
    if (record.isAnswering) return 'loaded'
    return (ageSeconds() ?? Number.POSITIVE_INFINITY) < policy.staleIfErrorSeconds ? 'stale' : 'unavailable'
  }
  const cacheCounts = (): SourceDetails['cache'] => {
    const { hit, revalidating, stale, miss, bytes } = pages.counts
    return { fresh: hit, stale: revalidating + stale, miss, bytes }
  }

  return {
    source: {
      name,
      visibility,
      priority,
      mode: 'live',
      ask: plan(read(pages.fetch)),
      breaker: () => guard.breaker.state,
    },
    spec: {
      name,
      kind,
      visibility,
      priority,
      spec: () => vocabulary.current(),
      known: () => vocabulary.known(),
    },
    fetch: guard.fetch,
    refuse: () => guard.refuse(),
    status: () => ({
      name,
      mode: 'live',
      visibility,
      state: state(),
      ageSeconds: ageSeconds(),
      lastError: record.lastError,
      schemaId: vocabulary.current()?.schemaId ?? null,
      filters: filtersOf(vocabulary.current()),
      listings: record.listings,
      breaker: guard.breaker,
      cache: cacheCounts(),
      calls: record.calls,
      items: record.items,
      ...record.gaps,
    }),
    refresh: () => {
      pages.drop()
      vocabulary.refresh()
    },
    close: () => guard.close(),
  }
}

const filtersOf = (spec: UpstreamSpec | null): readonly string[] | null =>
  spec === null ? null : [...spec.filters.keys()]
