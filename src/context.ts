import type { RequestListener } from 'node:http'
import { LruCache } from './cache/lru.ts'
import type { Config } from './config.ts'
import { type Clock, systemClock } from './domain/clock.ts'
import type { NamedSource } from './domain/page.ts'
import { readFilterSpec } from './filter-spec/load.ts'
import { explained } from './gateway/explained.ts'
import { fanOut } from './gateway/fan-out.ts'
import { createUpstreamSource } from './gateway/upstream-source.ts'
import { federatedVocabulary } from './gateway/vocabulary.ts'
import { withOtherFilters } from './gateway/with-other-filters.ts'
import { createAdmission } from './http/admission.ts'
import { createApp } from './http/app.ts'
import { createAuthorize } from './http/authorize.ts'
import { createClientAddress } from './http/client-address.ts'
import { HotAnswers } from './http/hot-answers.ts'
import type { Route } from './http/route.ts'
import { createRoutes } from './http/routes.ts'
import { createLimiter } from './limits/limiter.ts'
import { createLogger, type Logger } from './log.ts'
import { ApiKeys, sameSecret } from './registry/api-keys.ts'
import { createShapeCheck } from './registry/listing-shape.ts'
import { localSource } from './registry/local-source.ts'
import { createRecoverPool } from './registry/recover-pool.ts'
import { Replica } from './registry/replica.ts'
import type { RecoverAddress } from './registry/signature.ts'
import { openRedisStore } from './store/redis.ts'
import { openSqliteStore } from './store/sqlite.ts'
import type { Store } from './store/store.ts'
import { createAgent } from './upstream/agent.ts'
import { fetchInTurn } from './upstream/fetch-in-turn.ts'
import { fetchListings } from './upstream/fetch-listings.ts'
import { fetchFilterSpec } from './upstream/filter-spec.ts'
import { getFrom } from './upstream/get.ts'
import { type ListingPage, retainedBytes } from './upstream/listing-page.ts'
import { PublisherBook } from './upstream/publisher-book.ts'
import { fetchPublishers } from './upstream/publishers.ts'
import { readPrefix } from './upstream/read-prefix.ts'
import { SpecKeeper } from './upstream/spec-keeper.ts'
import { withPublishers } from './upstream/with-publishers.ts'

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
    const { maxBytes } = config.cache
    const cache = new LruCache<ListingPage>({ maxBytes, sizeOf: retainedBytes, now: clock.now })
    const upstreamSources = config.upstreams.map((upstream) => {
      const agent = createAgent(upstream)
      // Readers have been answered by then: what is left is fetched for nobody.
      closers.push(() => agent.destroy())
      const get = getFrom(upstream, agent)
      const book = new PublisherBook(fetchPublishers(get), clock)
      const assembled = createUpstreamSource({
        upstream,
        fetch: fetchInTurn(upstream, fetchListings(upstream, agent)),
        read: (fetch) => {
          // A gateway's publishers are only its own; of the others its items tell.
          const attributed = upstream.kind === 'gateway' ? fetch : withPublishers(book, fetch)
          return (query, signal) => readPrefix(upstream, attributed, query, signal)
        },
        vocabulary: new SpecKeeper(fetchFilterSpec(get), clock),
        schema: config.gateway.schema,
        cache,
        policy: config.cache,
        budgetMs: config.gateway.budgetMs,
        clock,
        random,
      })
      closers.push(() => assembled.close())
      return assembled
    })
    const upstreams = upstreamSources.map(({ source }) => source)
    const local: NamedSource = {
      name: config.registry.name,
      visibility: 'public',
      mode: 'local',
      priority: 0,
      ask: withOtherFilters(config.registry.name, spec.filters.values())(explained(localSource(replica))),
    }
    const sources = config.registry.enabled ? [local, ...upstreams] : upstreams
    const pool = createRecoverPool()
    closers.push(() => pool.close())
    const limiter = createLimiter(config.limits)
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
      gateway:
        upstreams.length === 0
          ? null
          : {
              federation: fanOut(sources, config.gateway),
              vocabulary: federatedVocabulary(
                spec,
                upstreamSources.map((upstream) => upstream.spec),
              ),
              gatewayId: config.gateway.id,
              freshSeconds: config.cache.freshSeconds,
            },
      store,
    })
    const app = createApp({
      routes,
      authorize,
      log,
      hot,
      admit,
    })
    return { config, log, routes, listener: hot.listener({ authorize, admit }, app.callback()), close }
  } catch (cause) {
    await close()
    throw cause
  }
}

const openStore = async (url: string, log: Logger): Promise<Store> => {
  if (url.startsWith('sqlite:')) return openSqliteStore(url.slice('sqlite:'.length))
  const { store, warnings } = await openRedisStore(url)
  for (const warning of warnings) log.warn(warning)
  return store
}
