import pLimit from 'p-limit'
import type { Dispatcher } from 'undici'
import type { CachePolicy } from '../domain/source/freshness.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import type { SourceError } from '../domain/source/source-error.ts'
import type { SourceDetails, SourceLog } from '../domain/source/source-status.ts'
import type { UpstreamOptions } from '../domain/source/upstream.ts'
import type { UpstreamSpec } from '../filter-spec/upstream-spec.ts'
import { CopyLookup } from './copies/copy-lookup.ts'
import { SellerSearch } from './copies/seller-search.ts'
import { WholeRuns } from './copies/whole-runs.ts'
import { pushDownFilters, requireSchema } from './filter-pushdown.ts'
import { FilterSpecCache, FilterSpecState } from './filter-spec-cache.ts'
import { createGet, type Get } from './http/get.ts'
import type { Interceptor } from './http/request.ts'
import { CallStats } from './interceptors/call-stats.ts'
import { CircuitBreaker, type SharedBreakerState } from './interceptors/circuit-breaker.ts'
import { composeRequests } from './interceptors/compose.ts'
import { limitConcurrency } from './interceptors/limit-concurrency.ts'
import { retry } from './interceptors/retry.ts'
import { liveSource, refuseLongScan } from './live-source.ts'
import { createLookUp } from './look-up.ts'
import { createFetchPage, type FetchPage } from './page/fetch-page.ts'
import { PublisherDirectory, PublisherState } from './publisher-directory.ts'
import { readRun } from './reading/read-run.ts'
import type { Run } from './reading/run.ts'
import { type ReadRun, RunCache, type RunCacheOptions, RunCacheState } from './reading/run-cache.ts'
import { firstPageFetcher, pull } from './snapshot/pull.ts'
import { type PullerOptions, SnapshotPuller } from './snapshot/puller.ts'
import { SnapshotSource } from './snapshot/snapshot-source.ts'
import { SnapshotState } from './snapshot/snapshot-state.ts'

/** What was learnt of an upstream under one credential. The same upstream of the next runtime continues with it. */
export class UpstreamState {
  readonly stats = new CallStats()
  readonly runs = new RunCacheState()
  readonly spec = new FilterSpecState()
  readonly publishers = new PublisherState()
  readonly snapshot = new SnapshotState()
}

export type Upstream = {
  source: NamedSource
  spec: Pick<UpstreamOptions, 'name' | 'kind' | 'visibility' | 'priority'> & {
    spec: () => UpstreamSpec | null
    /** Why the latest request for it failed. */
    failure: () => SourceError | null
    /** Settles after the first request for it. Never rejects. */
    loaded: Promise<unknown>
  }
  status: () => SourceDetails
  /** Drops what is cached, and fetches it again. */
  refresh: () => void
  /** Sends one request, even while the circuit breaker is open. Never rejects. */
  probe: () => Promise<void>
  /** After the first pull, with any outcome, or when it takes long. */
  isReady: () => boolean
  ready: Promise<unknown>
  /** Restores and pulls its snapshot. */
  start: () => Promise<void>
  /** Ends the pulls, and saves. Readers can still read. */
  stop: () => Promise<void>
  close: () => Promise<void>
}

export type UpstreamParts = Pick<RunCacheOptions, 'runs' | 'policy' | 'clock' | 'random'> & {
  upstream: UpstreamOptions
  /** Of this gateway. */
  gatewayId: string
  agent: Dispatcher
  /** Around each attempt of every request; default none. */
  interceptors?: readonly Interceptor[] | undefined
  state: UpstreamState
  /** Required of upstreams that declare a schema id; `null` accepts all. */
  schema: string | null
  budgetMs: number
  /** `null` without Redis. */
  sharedBreaker: SharedBreakerState | null
  snapshots: Pick<PullerOptions, 'storage' | 'shared' | 'filters' | 'onResize' | 'maxBytes' | 'inTurn'>
  log: SourceLog
}

/** Longest wait of `/ready` for the first pull of an upstream. */
const MAX_READY_MS = 20_000
/** In `timeoutMs`: two attempts, and the queue before them. */
const ATTEMPTS_AND_QUEUE = 3
/** Of one upstream at a time, so that some end instead of all being late. */
const MAX_LONG_READS = 4

export function createUpstream(parts: UpstreamParts): Upstream {
  const { upstream, state, policy, clock } = parts
  const { name, kind, visibility, priority } = upstream
  const requests = openRequests(parts)
  const { breaker, fetch, get } = requests
  const spec = new FilterSpecCache(get, clock, state.spec)
  const publishers = new PublisherDirectory(get, clock, state.publishers)
  const runs = openRuns(parts, fetch)
  const requireKnownSchema = () => requireSchema(name, spec.current, parts.schema)
  const checkSchema = async () => {
    if (parts.schema !== null) await spec.loaded
    requireKnownSchema()
  }
  const reads = { runs: limitScans(runs, upstream), publishers, checkSchema }
  const wholes = new WholeRuns({ ...reads, scanLimit: upstream.scanLimit })
  const freshMs = policy.freshSeconds * 1000
  const sellers = new SellerSearch({ get, publishers, freshMs, clock })
  const { lookUp } = new CopyLookup({ ...reads, kind, sellers, clock })
  const pushdown = pushDownFilters({ name, spec, schema: parts.schema }, liveSource({ upstream, ...reads }))
  const live = wholes.before(pushdown)
  const puller = openPuller(parts, { ...requests, publishers, spec, requireKnownSchema })
  const snapshot =
    puller &&
    new SnapshotSource({
      upstream,
      state: state.snapshot,
      puller,
      lookUp: createLookUp({ name, fetch, publishers, checkSchema, freshMs, clock }),
      publishers,
      requireSchema: requireKnownSchema,
      freshSeconds: policy.freshSeconds,
      clock,
    })
  const liveStatus = () => describeLive(parts, { breaker, runs, spec })
  return {
    source: {
      name,
      visibility,
      priority,
      mode: snapshot === null ? 'live' : 'snapshot',
      read: snapshot?.read ?? live,
      ...(snapshot && { select: snapshot.select, held: snapshot.held }),
      readWhole: snapshot?.readWhole ?? wholes.read,
      ...(snapshot === null && { lookUp }),
      storefrontOf: (publisher) => publishers.storefrontOf(publisher),
      mayRepeat: kind === 'gateway',
    },
    spec: {
      name,
      kind,
      visibility,
      priority,
      spec: () => spec.current,
      failure: () => spec.failure,
      loaded: spec.loaded,
    },
    status: () =>
      snapshot?.status({ ...liveStatus(), mode: 'snapshot' }) ?? { ...liveStatus(), liveReason: 'mode' },
    ...lifecycle(parts, { breaker, runs, spec, puller }),
  }
}

type Requests = { breaker: CircuitBreaker; fetch: FetchPage; get: Get }

function openRequests(parts: UpstreamParts): Requests {
  const { upstream, state, clock, gatewayId, interceptors } = parts
  const { stats } = state
  const onPage: typeof stats.addPage = (query, page) => stats.addPage(query, page)
  const breaker = new CircuitBreaker({
    ...parts,
    shared: parts.sharedBreaker,
    probe: (query, request) => probe(query, request),
  })
  const dispatcher = composeRequests(parts.agent, {
    interceptors,
    count: stats.count(clock, upstream),
    limit: limitConcurrency(upstream.maxInFlight),
    retry: retry({ ...parts, onRetry: () => stats.calls.retried++ }),
    breaker: breaker.intercept,
  })
  const probe = createFetchPage(upstream, dispatcher, { purpose: 'probe', onPage })
  const fetch = createFetchPage(upstream, dispatcher, { onPage })
  return { breaker, fetch, get: createGet(upstream, dispatcher, [gatewayId]) }
}

function openRuns(parts: UpstreamParts, fetch: FetchPage): RunCache {
  const { upstream, state, clock } = parts
  const longReads = pLimit(MAX_LONG_READS)
  const read: ReadRun = (query, range, signal) => {
    const options = { upstream, fetch, clock, signal, longReads }
    const isWhole = !Number.isFinite(range.count)
    return readRun(isWhole ? { ...options, ...untilTooLong(upstream) } : options, query, range)
  }
  return new RunCache({
    ...parts,
    state: state.runs,
    read,
    maxReadMs: ATTEMPTS_AND_QUEUE * upstream.timeoutMs,
    onServe: (isHit) => state.stats.minutes.addLookup(clock.monotonic(), isHit),
  })
}

/**
 * A first page that shows too many listings ends the read, and its run in the cache refuses the next reader without a
 * request. An unsorted run fails instead.
 */
function untilTooLong(upstream: UpstreamOptions) {
  const check = refuseLongScan(upstream)
  return {
    check: (run: Run) => {
      if (!run.isSorted) check(run)
    },
    isEnough: ({ expected }: Run) => expected > upstream.scanLimit,
  }
}

/** Refuses a long run to whole reads, also one that reads of pages have left in the cache. */
function limitScans(runs: RunCache, upstream: UpstreamOptions): Pick<RunCache, 'read' | 'fresh'> {
  const check = refuseLongScan(upstream)
  const { isEnough } = untilTooLong(upstream)
  return {
    read: async (query, range, signal) => {
      if (Number.isFinite(range.count)) return runs.read(query, range, signal)
      const served = runs.fresh(query, isEnough) ?? (await runs.read(query, range, signal))
      check(served.run)
      return served
    },
    fresh: (query, fits) => runs.fresh(query, fits),
  }
}

type PullParts = Requests & {
  publishers: PublisherDirectory
  spec: FilterSpecCache
  requireKnownSchema: () => void
}

function openPuller(
  parts: UpstreamParts,
  { fetch, get, publishers, spec, requireKnownSchema }: PullParts,
): SnapshotPuller | null {
  const { upstream, state, gatewayId, clock, snapshots } = parts
  if (upstream.mode === 'live') return null
  const pulls = {
    upstream,
    get,
    publishers,
    read: { fetch, clock },
    via: [gatewayId],
  }
  const fetchFirstPage = firstPageFetcher(pulls)
  return new SnapshotPuller({
    ...parts,
    ...snapshots,
    get,
    state: state.snapshot,
    fetchFirstPage: async () => {
      await spec.loaded
      requireKnownSchema()
      return fetchFirstPage()
    },
    pull: (first, bounds) => pull(pulls, first, bounds),
    attribute: (items) => publishers.attribute(items),
  })
}

type LiveParts = { breaker: CircuitBreaker; runs: RunCache; spec: FilterSpecCache }

function lifecycle(
  { state, clock }: UpstreamParts,
  { breaker, runs, spec, puller }: LiveParts & { puller: SnapshotPuller | null },
): Omit<Upstream, 'source' | 'spec' | 'status'> {
  const openedAt = clock.monotonic()
  return {
    refresh: () => {
      runs.drop()
      void spec.refresh()
      if (puller === null) void breaker.probe()
      else puller.pull()
    },
    probe: () => breaker.probe(),
    isReady: () => puller === null || state.snapshot.isReady || clock.monotonic() - openedAt >= MAX_READY_MS,
    ready: Promise.all([spec.loaded, puller?.ready]),
    start: async () => puller?.start(),
    stop: async () => puller?.close(),
    close: async () => {
      await puller?.close()
      breaker.close()
    },
  }
}

function describeLive(
  { upstream, state, policy, clock }: UpstreamParts,
  { breaker, runs, spec }: LiveParts,
): SourceDetails {
  const { name, visibility } = upstream
  const { answeredAt, isAnswering, minutes, ...counts } = state.stats
  const ageSeconds = answeredAt === null ? null : (clock.monotonic() - answeredAt) / 1000
  const { hit, revalidating, stale, miss, bytes } = runs.counts
  const currentSpec = spec.current
  return {
    name,
    mode: 'live',
    visibility,
    state: stateOf(isAnswering, ageSeconds, policy),
    ageSeconds,
    schemaId: currentSpec?.schemaId ?? null,
    filters: currentSpec && [...currentSpec.filters.keys()],
    breaker: breaker.state,
    cache: { fresh: hit, stale: revalidating + stale, miss, bytes },
    ...structuredClone(counts),
    minutes: minutes.read(clock.monotonic()),
    options: upstream,
  }
}

function stateOf(
  isAnswering: boolean | null,
  ageSeconds: number | null,
  { staleIfErrorSeconds }: CachePolicy,
): SourceDetails['state'] {
  if (isAnswering === null) return 'not_yet_loaded'
  if (isAnswering) return 'loaded'
  return (ageSeconds ?? Number.POSITIVE_INFINITY) < staleIfErrorSeconds ? 'stale' : 'unavailable'
}
