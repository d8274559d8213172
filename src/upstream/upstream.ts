import type { CachePolicy } from '../domain/source/freshness.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import type { SourceDetails, SourceLog } from '../domain/source/source-status.ts'
import type { UpstreamOptions } from '../domain/source/upstream.ts'
import type { UpstreamSpec } from '../filter-spec/upstream-spec.ts'
import { selectAll } from '../listing-index/item-selection.ts'
import { CallStats } from './call/call-stats.ts'
import { CircuitBreaker, type SharedBreakerState } from './call/circuit-breaker.ts'
import { limitConcurrency } from './call/limit-concurrency.ts'
import { retry } from './call/retry.ts'
import { pushDownFilters, requireSchema } from './filter-pushdown.ts'
import { FilterSpecCache, FilterSpecState } from './filter-spec-cache.ts'
import { createGet, type Get } from './http/get.ts'
import { liveSource, refuseLongScan } from './live-source.ts'
import { createFetchPage } from './page/fetch-page.ts'
import { PublisherDirectory, PublisherState } from './publisher-directory.ts'
import { readRun } from './reading/read-run.ts'
import { type ReadRun, RunCache, type RunCacheOptions, RunCacheState } from './reading/run-cache.ts'
import { type PullOptions, pull } from './snapshot/pull.ts'
import { type PullerOptions, SnapshotPuller, SnapshotState } from './snapshot/puller.ts'
import { SnapshotSource } from './snapshot/snapshot-source.ts'

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
    /** Settles after the first request for it. Never rejects. */
    loaded: Promise<unknown>
  }
  status: () => SourceDetails
  /** Drops what is cached, and fetches it again. */
  refresh: () => void
  /** Sends one request, even while the circuit breaker is open. Never rejects. */
  probe: () => Promise<void>
  /** Whether the first pull of its snapshot ended, with any outcome. */
  isReady: () => boolean
  ready: Promise<unknown>
  /** Restores and pulls its snapshot. */
  start: () => Promise<void>
  /** Ends the pulls, and saves. Readers can still read. */
  stop: () => Promise<void>
  close: () => Promise<void>
}

export type UpstreamParts = Pick<RunCacheOptions, 'runs' | 'sharedRuns' | 'policy' | 'clock' | 'random'> &
  Pick<PullOptions, 'upstream' | 'agent' | 'gatewayId'> & {
    state: UpstreamState
    /** Required of upstreams that declare a schema id; `null` accepts all. */
    schema: string | null
    budgetMs: number
    /** `null` without Redis. */
    sharedBreaker: SharedBreakerState | null
    snapshots: Pick<PullerOptions, 'storage' | 'filters' | 'onResize'> & Pick<PullOptions, 'maxBytes'>
    log: SourceLog
  }

/** In `timeoutMs`: two attempts, and the queue before them. */
const ATTEMPTS_AND_QUEUE = 3

export function createUpstream(parts: UpstreamParts): Upstream {
  const { upstream, agent, state, gatewayId, schema, clock } = parts
  const { name, kind, visibility, priority, timeoutMs } = upstream
  const { stats } = state
  const counted = stats.instrument(upstream, clock, createFetchPage(upstream, agent))
  const limited = limitConcurrency(upstream, counted)
  const breaker = new CircuitBreaker({ ...parts, name, probe: limited, shared: parts.sharedBreaker })
  const fetch = breaker.guard(retry({ ...parts, onRetry: () => stats.calls.retried++ }, limited))
  const rawGet = createGet(upstream, agent, [gatewayId])
  // The breaker does not count these requests: they are rare, and prove nothing about listings.
  const get: Get = async (...request) => {
    breaker.throwIfOpen()
    return rawGet(...request)
  }
  const spec = new FilterSpecCache(get, clock, state.spec)
  const publishers = new PublisherDirectory(get, clock, state.publishers)
  const check = refuseLongScan(upstream)
  const read: ReadRun = (query, range, signal, base) => {
    const options = { upstream, fetch, clock, signal }
    return readRun(Number.isFinite(range.count) ? options : { ...options, check }, query, range, base)
  }
  const onServe = (isHit: boolean) => stats.minutes.addLookup(clock.now(), isHit)
  const maxReadMs = ATTEMPTS_AND_QUEUE * timeoutMs
  const runs = new RunCache({ ...parts, state: state.runs, read, maxReadMs, onServe })
  // Pages newest first may leave a longer run in the cache than one that is read whole.
  const limitedRuns: Pick<RunCache, 'read'> = {
    read: async (query, range, signal) => {
      const served = await runs.read(query, range, signal)
      if (!Number.isFinite(range.count)) check(served.run)
      return served
    },
  }
  const live = pushDownFilters(
    { name, spec, schema },
    liveSource({ upstream, runs: limitedRuns, publishers }),
  )
  const checkSchema = () => requireSchema(name, spec.current, schema)
  const pullAll = async () => {
    await spec.loaded
    checkSchema()
    const { maxBytes } = parts.snapshots
    return pull({ upstream, agent, publishers, read: { fetch, clock }, maxBytes, gatewayId })
  }
  const puller =
    upstream.mode === 'live'
      ? null
      : new SnapshotPuller({ ...parts, ...parts.snapshots, state: state.snapshot, pull: pullAll })
  const snapshot =
    puller &&
    new SnapshotSource({
      upstream,
      state: state.snapshot,
      live: { read: live, select: selectAll(live) },
      requireSchema: checkSchema,
      clock,
    })
  const liveStatus = () => describeLive(parts, { stats, breaker, runs, spec })
  return {
    source: {
      name,
      visibility,
      priority,
      // A snapshot that is too large becomes live.
      get mode() {
        return snapshot?.mode ?? 'live'
      },
      read: snapshot?.read ?? live,
      ...(snapshot && { select: snapshot.select }),
      breaker: () => breaker.state.state,
      storefrontOf: (publisher) => publishers.storefrontOf(publisher),
      mayRepeat: kind === 'gateway',
    },
    spec: { name, kind, visibility, priority, spec: () => spec.current, loaded: spec.loaded },
    status: () => snapshot?.status(liveStatus()) ?? liveStatus(),
    refresh: () => {
      runs.drop()
      void spec.refresh()
      if (puller === null) void breaker.probe()
      else puller.pull()
    },
    probe: () => breaker.probe(),
    isReady: () => puller === null || state.snapshot.isReady,
    ready: Promise.all([spec.loaded, puller?.ready]),
    start: async () => puller?.start(),
    stop: async () => puller?.close(),
    close: async () => {
      await puller?.close()
      breaker.close()
    },
  }
}

type LiveParts = { stats: CallStats; breaker: CircuitBreaker; runs: RunCache; spec: FilterSpecCache }

function describeLive(
  { upstream, policy, clock }: UpstreamParts,
  { stats, breaker, runs, spec }: LiveParts,
): SourceDetails {
  const { name, visibility } = upstream
  const { answeredAt, isAnswering, minutes, ...counts } = stats
  const ageSeconds = answeredAt === null ? null : Math.max(0, clock.now() - answeredAt) / 1000
  const { hit, revalidating, stale, miss, bytes } = runs.counts
  const known = spec.current
  return {
    name,
    mode: 'live',
    visibility,
    state: stateOf(isAnswering, ageSeconds, policy),
    ageSeconds,
    schemaId: known?.schemaId ?? null,
    filters: known && [...known.filters.keys()],
    breaker: breaker.state,
    cache: { fresh: hit, stale: revalidating + stale, miss, bytes },
    ...structuredClone(counts),
    minutes: minutes.read(clock.now()),
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
