import type { RequestListener } from 'node:http'
import type { Config } from './config.ts'
import { type Clock, systemClock } from './domain/clock.ts'
import type { NamedSource } from './domain/page.ts'
import { readFilterSpec } from './filter-spec/load.ts'
import { explained } from './gateway/explained.ts'
import { withOtherFilters } from './gateway/with-other-filters.ts'
import { openGateway } from './gateway-context.ts'
import { createAdmission } from './http/admission.ts'
import { createApp } from './http/app.ts'
import { createAuthorize } from './http/authorize.ts'
import { createClientAddress } from './http/client-address.ts'
import { HotAnswers } from './http/hot-answers.ts'
import { createMetrics } from './http/metrics.ts'
import { RequestMetrics } from './http/request-metrics.ts'
import type { Route } from './http/route.ts'
import { createRoutes } from './http/routes.ts'
import { createLimiter } from './limits/limiter.ts'
import { createLogger, type Logger } from './log.ts'
import { ApiKeys, sameSecret } from './registry/api-keys.ts'
import { createShapeCheck } from './registry/listing-shape.ts'
import { localSource } from './registry/local-source.ts'
import { localStatus } from './registry/local-status.ts'
import { createRecoverPool } from './registry/recover-pool.ts'
import { Replica } from './registry/replica.ts'
import type { RecoverAddress } from './registry/signature.ts'
import type { RedisCounters } from './store/redis-counters.ts'
import type { Store } from './store/store.ts'
import type { Upstreams, UpstreamsOptions } from './upstreams-context.ts'

/** A service put together and loaded, not yet listening. */
export type Context = {
  config: Config
  log: Logger
  routes: readonly Route[]
  /** Answers HTTP requests. */
  listener: RequestListener
  /** Lets go of everything, in reverse order of construction. */
  close: () => Promise<void>
}

/** What a test may put in place of the real thing. */
export type Overrides = {
  nowSeconds?: () => number
  clock?: Clock
  /** From 0 to 1: jitter. */
  random?: () => number
  log?: Logger
  store?: Store
  recover?: RecoverAddress
}

/**
 * The composition root: the only place where adapters are made and joined.
 * @throws ConfigError when the filter spec or the store cannot be used
 */
export const createContext = async (config: Config, overrides: Overrides = {}): Promise<Context> => {
  const log = overrides.log ?? createLogger(config.logLevel)
  const closers: (() => unknown)[] = []
  const close = async (): Promise<void> => {
    for (const closeOne of closers.splice(0).reverse()) await closeOne()
  }
  try {
    const spec = readFilterSpec(config.filterSpecPath)
    const store = overrides.store ?? (await openStore(config.storeUrl, log))
    closers.push(() => store.close())
    const replica = await Replica.open(store, [...spec.filters.values()], (cause) =>
      log.warn({ err: cause }, 'the store could not be followed; reads go on from memory'),
    )
    closers.push(() => replica.close())
    const keys = new ApiKeys(store, replica)
    if (config.bootstrapKey !== null) await keys.seed(config.bootstrapKey)

    const { clock = systemClock, random = Math.random } = overrides
    const { upstreams, areTried } = await openUpstreams({
      config,
      spec,
      redisUrl: overrides.store === undefined && !config.storeUrl.startsWith(SQLITE) ? config.storeUrl : null,
      clock,
      random,
      log,
      onClose: (closeOne) => closers.push(closeOne),
    })
    const { name } = config.registry
    const local: NamedSource = {
      name,
      visibility: 'public',
      mode: 'local',
      priority: 0,
      ask: withOtherFilters(name, spec.filters.values())(explained(localSource(replica))),
    }
    const gateway = openGateway({
      config,
      spec,
      local: config.registry.enabled ? { source: local, status: localStatus(name, spec, replica) } : null,
      upstreams,
      clock,
    })
    const metrics = createMetrics(gateway)
    const pool = createRecoverPool()
    closers.push(() => pool.close())
    const counters = overrides.store === undefined ? await openCounters(config.storeUrl) : null
    if (counters !== null) closers.push(() => counters.close())
    const limiter = createLimiter(config.limits, counters)
    const verifier = {
      limiter,
      recover: overrides.recover ?? pool.recover,
      nowSeconds: overrides.nowSeconds ?? (() => Math.floor(Date.now() / 1000)),
    }
    const { adminKey } = config
    const authorize = createAuthorize({
      requireReadKey: config.requireReadKey,
      requireWriteKey: config.requireWriteKey,
      keysRevealMore: config.upstreams.some(({ visibility }) => visibility === 'private'),
      isAdminKey: adminKey === null ? null : (token) => sameSecret(token, adminKey),
      recognise: (token) => keys.recognise(token),
    })
    const admit = createAdmission(limiter, createClientAddress(config.limits.trustedProxies))
    const hot = new HotAnswers()
    const shape = { mode: config.registry.listingShape, check: createShapeCheck(spec.listingShape) }
    const routes = createRoutes({
      spec,
      registry: config.registry.enabled ? { store, replica, verifier, shape } : null,
      keys,
      gateway,
      metrics,
      metricsPublic: config.metricsPublic,
      store,
      areTried,
    })
    const app = createApp({
      routes,
      authorize,
      log,
      hot,
      admit,
    })
    const requests = new RequestMetrics(metrics, routes)
    const { count } = requests
    const listener = hot.listener({ authorize, admit, count }, requests.listener(app.callback()))
    return { config, log, routes, listener, close }
  } catch (cause) {
    await close()
    throw cause
  }
}

/** Loads what talks to upstreams only where there is one: a third of what a start has to load. */
const openUpstreams = async (options: UpstreamsOptions): Promise<Upstreams> => {
  if (options.config.upstreams.length === 0) return { upstreams: [], areTried: () => true }
  const upstreams = await import('./upstreams-context.ts')
  return upstreams.openUpstreams(options)
}

/** Loads the one adapter that is used, which makes the start quicker. */
const openStore = async (url: string, log: Logger): Promise<Store> => {
  if (url.startsWith(SQLITE)) {
    const { openSqliteStore } = await import('./store/sqlite.ts')
    return openSqliteStore(url.slice(SQLITE.length))
  }
  const { openRedisStore } = await import('./store/redis.ts')
  const { store, warnings } = await openRedisStore(url)
  for (const warning of warnings) log.warn(warning)
  return store
}

/** Where replicas count together; `null` where each counts alone. */
const openCounters = async (url: string): Promise<RedisCounters | null> => {
  if (url.startsWith(SQLITE)) return null
  const { openRedisCounters } = await import('./store/redis-counters.ts')
  return openRedisCounters(url)
}

const SQLITE = 'sqlite:'
