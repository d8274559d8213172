import type { Dispatcher } from 'undici'
import type { Clock } from '../domain/clock.ts'
import { NO_FILTER } from '../domain/query.ts'
import type { Holding } from '../domain/source/holding.ts'
import { SourceError } from '../domain/source/source-error.ts'
import type { SourceDetails, SourceLog } from '../domain/source/source-status.ts'
import type { UpstreamOptions } from '../domain/source/upstream.ts'
import { isSameSchema } from '../filter-spec/schema-id.ts'
import { FilterSpecCache, FilterSpecState } from './filter-spec-cache.ts'
import { createGet, type Interceptor } from './http/request.ts'
import { CallStats } from './interceptors/call-stats.ts'
import { CircuitBreaker, type SharedBreakerState } from './interceptors/circuit-breaker.ts'
import { composeRequests } from './interceptors/compose.ts'
import { limitConcurrency } from './interceptors/limit-concurrency.ts'
import { retry } from './interceptors/retry.ts'
import { createLookUp } from './look-up.ts'
import { createFetchPage } from './page/fetch-page.ts'
import { type KnownPublishers, PublisherDirectory } from './publisher-directory.ts'
import { narrowBy } from './push-down.ts'
import { firstPageFetcher } from './snapshot/first-page.ts'
import { pull } from './snapshot/pull.ts'
import { type PullerOptions, SnapshotPuller } from './snapshot/puller.ts'
import { SnapshotState } from './snapshot/snapshot-state.ts'
import { UpstreamHolding } from './snapshot/upstream-holding.ts'

/** What was learnt of an upstream under one credential. The same upstream of the next runtime continues with it. */
export class UpstreamState {
  readonly stats = new CallStats()
  readonly spec = new FilterSpecState()
  readonly publishers: KnownPublishers = new Map()
  readonly snapshot = new SnapshotState()
}

export type Upstream = {
  source: Holding
  spec: FilterSpecCache
  status: () => SourceDetails
  /** Fetches its filter spec, and pulls it whole. */
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

export type UpstreamParts = {
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
  /** How long the answer about a single listing counts. */
  freshSeconds: number
  /** `null` without Redis. */
  sharedBreaker: SharedBreakerState | null
  snapshots: Pick<
    PullerOptions,
    'index' | 'storage' | 'shared' | 'filters' | 'onResize' | 'maxBytes' | 'inTurn'
  >
  log: SourceLog
  clock: Clock
  random: () => number
  /** As of a puller. */
  head: number
}

/** Longest wait of `/ready` for the first pull of an upstream. */
const MAX_READY_MS = 20_000

export function createUpstream(parts: UpstreamParts): Upstream {
  const { upstream, gatewayId, state, freshSeconds, clock, schema, snapshots } = parts
  const { name, kind, only = NO_FILTER } = upstream
  const { breaker, fetch, get } = openRequests(parts)
  const spec = new FilterSpecCache(get, clock, state.spec)
  const publishers = new PublisherDirectory(get, clock, state.publishers)
  const checkSchema = (): void => {
    const declared = spec.current?.schemaId ?? null
    if (schema === null || declared === null || isSameSchema(declared, schema)) return
    throw new SourceError('schema_mismatch', `${name}: serves schema '${declared}', not '${schema}'`)
  }
  const narrowing = narrowBy(only, spec, [gatewayId])
  const fetchFirstPage = firstPageFetcher(kind, { get, fetch, clock })
  const puller = new SnapshotPuller({
    ...parts,
    ...snapshots,
    get,
    state: state.snapshot,
    query: narrowing.query,
    fetchFirstPage: async () => {
      await spec.loaded
      void spec.load()
      checkSchema()
      return narrowing.ask(fetchFirstPage)
    },
    pull: ({ query, page }, bounds) =>
      narrowing.ask(() => pull({ upstream, get, publishers, fetch, query }, page, bounds), query),
    attribute: (items) => publishers.attribute(items),
  })
  const openedAt = clock.monotonic()
  let hasPulled = false
  void puller.ready.then(() => (hasPulled = true))
  const ask = createLookUp({
    name,
    fetch: async (...asked) => {
      if (schema !== null) await spec.loaded
      checkSchema()
      return fetch(...asked)
    },
    publishers,
    freshMs: freshSeconds * 1000,
    clock,
  })
  const held = { state: state.snapshot, puller, ask, publishers, checkSchema }
  const source = new UpstreamHolding({ ...parts, ...held })
  return {
    source,
    spec,
    status: () => ({ ...describeRequests(parts, breaker, spec), ...source.status() }),
    refresh: () => {
      void spec.refresh()
      puller.pull()
    },
    probe: () => breaker.probe(),
    isReady: () => hasPulled || clock.monotonic() - openedAt >= MAX_READY_MS,
    ready: Promise.all([spec.loaded, puller.ready]),
    start: () => puller.start(),
    stop: () => puller.close(),
    close: async () => {
      await puller.close()
      breaker.close()
    },
  }
}

function openRequests(parts: UpstreamParts) {
  const { upstream, state, clock, gatewayId, interceptors } = parts
  const { stats } = state
  const onPage: typeof stats.addPage = (page) => stats.addPage(page)
  const breaker = new CircuitBreaker({
    ...parts,
    shared: parts.sharedBreaker,
    probe: (query, request) => probe(query, request),
  })
  const dispatcher = composeRequests(parts.agent, interceptors, [
    stats.count(clock, upstream),
    limitConcurrency(upstream.maxInFlight),
    retry({ ...parts, onRetry: () => stats.calls.retried++ }),
    breaker.intercept,
  ])
  const probe = createFetchPage(upstream, dispatcher, { purpose: 'probe', onPage })
  const fetch = createFetchPage(upstream, dispatcher, { onPage })
  return { breaker, fetch, get: createGet(upstream, dispatcher, [gatewayId]) }
}

/** What its requests show. */
function describeRequests(
  { upstream, state, clock }: UpstreamParts,
  breaker: CircuitBreaker,
  spec: FilterSpecCache,
) {
  const { name, visibility } = upstream
  const { minutes, calls, items, certificateEndsAt, failures, lastError } = state.stats
  const currentSpec = spec.current
  return {
    name,
    visibility,
    lastError,
    schemaId: currentSpec?.schemaId ?? null,
    filters: currentSpec && [...currentSpec.filters.keys()],
    breaker: breaker.state,
    ...structuredClone({ calls, items, certificateEndsAt, failures }),
    minutes: minutes.read(clock.monotonic()),
    options: upstream,
  }
}
