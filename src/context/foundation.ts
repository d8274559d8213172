import { randomBytes } from 'node:crypto'
import type { LookupFunction } from 'node:net'
import type { Config } from '../config.ts'
import { type Clock, systemClock } from '../domain/clock.ts'
import { createMetrics, registerHealthMetrics } from '../http/metrics/metrics.ts'
import { RequestMetrics } from '../http/metrics/request-metrics.ts'
import { TracedRequests } from '../http/middleware/tracing.ts'
import type { SourceList } from '../http/routes/sources.ts'
import { createLogger, LogDestination, type Logger, STDERR } from '../log.ts'
import { createRecoverPool } from '../registry/signature/recover-pool.ts'
import type { RecoverAddress } from '../registry/signature/signature.ts'
import type { RedisCounters } from '../store/redis/open.ts'
import type { Store } from '../store/store.ts'
import { StoreHealth } from '../store/store-health.ts'
import { NameResolver } from '../upstream/http/lookup.ts'
import { Closers } from './closers.ts'
import { SharedParts } from './shared-parts.ts'

export type Overrides = {
  nowSeconds?: () => number
  clock?: Clock
  random?: () => number
  log?: Logger
  store?: Store
  recover?: RecoverAddress
  lookup?: LookupFunction
}

export type Foundation = {
  log: Logger
  clock: Clock
  random: () => number
  nowSeconds: () => number
  store: Store
  storeHealth: StoreHealth
  /** Shared by replicas; `null` without Redis. */
  redisUrl: string | null
  /** `null`: snapshots are saved in Redis, or nowhere. */
  snapshotFolder: string | null
  /** Shared by replicas; `null`: each process counts alone. */
  counters: RedisCounters | null
  recover: RecoverAddress
  resolver: NameResolver
  onWorkerFault: (cause: unknown) => void
  metrics: ReturnType<typeof createMetrics>
  requests: RequestMetrics
  traced: TracedRequests | null
  /** Seals cursors where there is no admin key. */
  cursorSecret: string
  parts: SharedParts
  close: () => Promise<void>
}

/** @throws ConfigError when the store cannot be used */
export async function openFoundation(
  config: Config,
  overrides: Overrides,
  sources: () => SourceList['sources'],
): Promise<Foundation> {
  const { storeUrl } = config
  const destination = new LogDestination(STDERR)
  const log = overrides.log ?? createLogger(config.logLevel, destination)
  const clock = overrides.clock ?? systemClock
  const closers = new Closers()
  try {
    const storeHealth = new StoreHealth(overrides.store ?? (await openStore(storeUrl, log)), { log, clock })
    const { store } = storeHealth
    closers.add(() => store.close())
    const onWorkerFault = (cause: unknown): void =>
      log.warn({ reason: cause instanceof Error ? cause.message : String(cause) }, 'worker unavailable')
    const pool = createRecoverPool({ onFault: onWorkerFault })
    closers.add(() => pool.close())
    const counters = overrides.store === undefined ? await openCounters(storeUrl) : null
    if (counters !== null) closers.add(() => counters.close())
    const metrics = createMetrics(sources)
    registerHealthMetrics(metrics, { store, droppedLogLines: () => destination.dropped })
    const requests = new RequestMetrics(metrics)
    const tracing = await openTracing(config, log)
    if (tracing !== null) closers.add(tracing.close)
    return {
      log,
      clock,
      random: overrides.random ?? Math.random,
      nowSeconds: overrides.nowSeconds ?? (() => Math.floor(Date.now() / 1000)),
      store,
      storeHealth,
      redisUrl: overrides.store === undefined && !storeUrl.startsWith(SQLITE) ? storeUrl : null,
      snapshotFolder: folderBeside(storeUrl),
      counters,
      recover: overrides.recover ?? pool.recover,
      resolver: new NameResolver(overrides.clock ?? systemClock, overrides.lookup),
      onWorkerFault,
      metrics,
      requests,
      traced: tracing && new TracedRequests({ tracer: tracing.tracer, routeOf: requests.routeOf }),
      cursorSecret: randomBytes(32).toString('hex'),
      parts: new SharedParts(),
      close: () => closers.close(),
    }
  } catch (cause) {
    await closers.close()
    throw cause
  }
}

/** Loads only the adapter in use, for a quick start. */
async function openStore(url: string, log: Logger): Promise<Store> {
  if (url.startsWith(SQLITE)) {
    const { openSqliteStore } = await import('../store/sqlite/store.ts')
    return openSqliteStore(url.slice(SQLITE.length))
  }
  const { openRedisStore } = await import('../store/redis/open.ts')
  const { store, warnings } = await openRedisStore(url)
  for (const warning of warnings) log.warn(warning)
  return store
}

async function openTracing({ tracing }: Config, log: Logger) {
  if (tracing === null) return null
  const { openTracer } = await import('../tracing/tracer.ts')
  return openTracer(tracing, log)
}

async function openCounters(url: string): Promise<RedisCounters | null> {
  if (url.startsWith(SQLITE)) return null
  const { openRedisCounters } = await import('../store/redis/open.ts')
  return openRedisCounters(url)
}

function folderBeside(url: string): string | null {
  const database = /^sqlite:(?!:memory:)(.+)$/.exec(url)?.[1]
  return database === undefined ? null : `${database}-snapshots`
}

const SQLITE = 'sqlite:'
