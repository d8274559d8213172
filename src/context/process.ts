import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { LookupFunction } from 'node:net'
import { hostname } from 'node:os'
import type { Config } from '../config/config.ts'
import { sqlitePath } from '../config/settings.ts'
import { version } from '../config/shipped-files.ts'
import type { KeyUseStorage } from '../domain/api-key.ts'
import { type Clock, systemClock } from '../domain/clock.ts'
import { lazy } from '../domain/lazy.ts'
import { redactCredentials } from '../domain/safe-text.ts'
import { Fleet } from '../fleet/fleet.ts'
import { ChangeFeed } from '../gateway/changes/change-feed.ts'
import {
  createMetrics,
  createStoreMetrics,
  registerEventLoopMetrics,
  registerHealthMetrics,
} from '../http/metrics/metrics.ts'
import { createOutcomeMetrics } from '../http/metrics/outcome-metrics.ts'
import { RequestMetrics } from '../http/metrics/request-metrics.ts'
import { type OnAnswered, RequestLog } from '../http/middleware/request-log.ts'
import { detailsToJson } from '../http/routes/sources.ts'
import { CopyIndex } from '../listing-index/copy-index.ts'
import { createLogger, LogDestination, type Logger, STDERR } from '../log.ts'
import { Audit, type AuditOptions } from '../registry/audit.ts'
import { KeyUsage } from '../registry/key-usage.ts'
import { STORE_OPERATIONS } from '../store/commands.ts'
import type { RedisCounters } from '../store/redis/open.ts'
import type { Store } from '../store/store.ts'
import { StoreHealth } from '../store/store-health.ts'
import { NameResolver } from '../upstream/http/lookup.ts'
import type { Interceptor } from '../upstream/http/request.ts'

export type Overrides = {
  /** Of every reload. */
  load?: () => Config
  nowSeconds?: () => number
  clock?: Clock
  random?: () => number
  log?: Logger
  store?: Store
  index?: CopyIndex
  lookup?: LookupFunction
  /** Around each attempt of every request to an upstream. */
  interceptors?: readonly Interceptor[]
  /** How often a replica saves its report. */
  saveReportEveryMs?: number
}

/** What lives as long as the process: everything that a reload keeps. */
export type ProcessScope = Awaited<ReturnType<typeof openProcess>>

/** @throws ConfigError when the store cannot be used */
export async function openProcess(config: Config, overrides: Overrides) {
  const { clock = systemClock } = overrides
  const destination = new LogDestination(STDERR)
  const log = overrides.log ?? createLogger(config.logLevel, destination)
  const cleanup = new CleanupStack()
  try {
    const metrics = createMetrics(version())
    cleanup.add(registerEventLoopMetrics(metrics))
    const base = { config, overrides, log, clock, metrics, cleanup }
    const storage = await openStorage(base)
    registerHealthMetrics(metrics, { store: storage.storeHealth, droppedLogLines: () => destination.dropped })
    const changes = await openChanges(base, storage)
    const requests = new RequestMetrics(metrics)
    const onAnswered = observeAnswers(base)
    const tracing = await openTracing(config, log)
    cleanup.add(() => tracing?.close())
    return {
      log,
      clock,
      random: overrides.random ?? Math.random,
      nowSeconds: overrides.nowSeconds ?? (() => Math.floor(Date.now() / 1000)),
      ...storage,
      changes,
      auditOf: (options: AuditOptions): Audit =>
        new Audit(storage.store, options, (act, err) => log.warn({ ...act, err }, 'act not recorded')),
      resolver: new NameResolver(clock, overrides.lookup),
      interceptors: overrides.interceptors,
      onWorkerFault: (cause: unknown): void =>
        log.warn({ reason: cause instanceof Error ? cause.message : String(cause) }, 'worker unavailable'),
      metrics,
      requests,
      onAnswered,
      tracer: tracing?.tracer ?? null,
      /** Seals cursors where there is no admin key. */
      cursorSecret: randomBytes(32).toString('hex'),
      close: () => cleanup.close(),
    }
  } catch (cause) {
    await cleanup.close()
    throw cause
  }
}

/** What the parts of a process share while they are opened. */
type Base = {
  config: Config
  overrides: Overrides
  log: Logger
  clock: Clock
  metrics: ReturnType<typeof createMetrics>
  /** Gets a closer for each part that was opened. */
  cleanup: CleanupStack
}

/** The store, and what replicas share through Redis. */
async function openStorage({ config: { storeUrl }, overrides, log, clock, metrics, cleanup }: Base) {
  const opened =
    overrides.store === undefined ? await openStore(storeUrl, log) : { store: overrides.store, keyUses: null }
  const onCall = createStoreMetrics(metrics, STORE_OPERATIONS)
  const { store } = opened
  const storeHealth = new StoreHealth(store, { log, clock, onCall })
  cleanup.add(() => {
    storeHealth.close()
    return store.close()
  })
  const redisUrl = overrides.store === undefined && sqlitePath(storeUrl) === null ? storeUrl : null
  const shared = await openFleetStorage(redisUrl)
  cleanup.add(() => shared?.close())
  const keyUsage = new KeyUsage(opened.keyUses ?? shared?.keyUses ?? null, clock)
  cleanup.add(() => keyUsage.close())
  const fleet = new Fleet({
    id: `${hostname()}-${randomBytes(3).toString('hex')}`,
    version: version(),
    startedAt: clock.now(),
    storage: shared?.reports ?? NOT_SHARED,
    describe: detailsToJson,
    clock,
    saveEveryMs: overrides.saveReportEveryMs,
  })
  cleanup.add(() => fleet.close())
  /** Shared by replicas; `null`: each process counts alone. */
  const counters = await openCounters(redisUrl)
  cleanup.add(() => counters?.close())
  /** All copies of all sources. */
  const index = overrides.index ?? new CopyIndex([])
  /** Loaded only for upstreams. */
  const upstreamCaches = lazy(async () => {
    const { openUpstreamCaches } = await import('./upstream-caches.ts')
    const snapshotFolder = folderBeside(storeUrl)
    const caches = await openUpstreamCaches({ index, redisUrl, snapshotFolder, clock })
    cleanup.add(caches.close)
    return caches
  })
  /** Whether other processes follow the same upstreams and append what changes there. */
  const isShared = redisUrl !== null
  return { store, isShared, index, storeHealth, keyUsage, fleet, counters, upstreamCaches }
}

/** The log of changes, which `GET /changes` reads. */
async function openChanges(
  { config, log, clock, cleanup }: Base,
  { store, isShared, index }: { store: Store; isShared: boolean; index: CopyIndex },
): Promise<ChangeFeed> {
  const changes = await ChangeFeed.open({
    feed: store.feed,
    index,
    isShared,
    retentionMs: config.changes.retentionSeconds * 1000,
    clock,
    onFault: (err) => log.warn({ err }, 'log of changes unavailable, retried until it is there'),
  })
  cleanup.add(() => changes.close())
  return changes
}

/** Logs and counts each request after its answer. */
function observeAnswers({ log, clock, metrics, cleanup }: Base): OnAnswered {
  const requestLog = new RequestLog(log, clock)
  cleanup.add(() => requestLog.close())
  const countOutcome = createOutcomeMetrics(metrics)
  return (request, error) => {
    requestLog.write(request, error)
    countOutcome(request, error)
  }
}

/** Loads only the adapter in use, for a quick start. */
async function openStore(url: string, log: Logger): Promise<{ store: Store; keyUses: KeyUseStorage | null }> {
  const path = sqlitePath(url)
  if (path !== null) {
    const { openSqliteStore } = await import('../store/sqlite/store.ts')
    const isNew = path !== ':memory:' && !existsSync(path)
    const store = openSqliteStore(path)
    // A mistyped path begins an empty market.
    if (isNew) log.info({ store: url }, 'new store created')
    return { store, keyUses: store.keyUses }
  }
  const { openRedisStore } = await import('../store/redis/open.ts')
  const { store, warnings, isNew } = await openRedisStore(url)
  if (isNew) log.info({ store: redactCredentials(url) }, 'new store created')
  for (const warning of warnings) log.warn(warning)
  // A single Redis has redis-om's (decision 5).
  return { store, keyUses: SINGLE_REDIS.test(url) ? null : store.keyUses }
}

async function openTracing({ tracing }: Config, log: Logger) {
  if (tracing === null) return null
  const { openTracer } = await import('../tracing/tracer.ts')
  return openTracer(tracing, log)
}

async function openCounters(redisUrl: string | null): Promise<RedisCounters | null> {
  if (redisUrl === null) return null
  const { openRedisCounters } = await import('../store/redis/open.ts')
  return openRedisCounters(redisUrl)
}

/** `null` without Redis, on a Cluster, and behind Sentinel (decision 5). */
async function openFleetStorage(redisUrl: string | null) {
  if (redisUrl === null || !SINGLE_REDIS.test(redisUrl)) return null
  const [{ redisLink }, { redisReports }, { redisKeyUses }, { KEY_PREFIX }] = await Promise.all([
    import('../fleet/redis-link.ts'),
    import('../fleet/redis-reports.ts'),
    import('../fleet/redis-key-uses.ts'),
    import('../store/redis/session.ts'),
  ])
  const link = redisLink(redisUrl, KEY_PREFIX)
  return { reports: redisReports(link), keyUses: redisKeyUses(link), close: link.close }
}

const SINGLE_REDIS = /^rediss?:/
const NOT_SHARED = 'Replicas are shown together where the store is a single Redis.'

/** `null`: snapshots are saved in Redis, or not at all. */
function folderBeside(url: string): string | null {
  const path = sqlitePath(url)
  return path === null || path.startsWith(':memory:') ? null : `${path}-snapshots`
}

/** Closes in reverse order, each once. */
export class CleanupStack {
  readonly #closers: (() => unknown)[] = []

  add(close: () => unknown): void {
    this.#closers.push(close)
  }

  async close(): Promise<void> {
    for (const close of this.#closers.splice(0).reverse()) await close()
  }
}
