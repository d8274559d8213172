import type { RequestListener } from 'node:http'
import { openAgentsDoor } from './agents-context.ts'
import { Closers } from './closers.ts'
import type { Config } from './config.ts'
import type { NamedSource } from './domain/page.ts'
import type { FilterSpec } from './filter-spec/filter.ts'
import { readFilterSpec } from './filter-spec/load.ts'
import type { Foundation } from './foundation-context.ts'
import { explained } from './gateway/explained.ts'
import { withOtherFilters } from './gateway/with-other-filters.ts'
import { openFederation } from './gateway-context.ts'
import { createAdmission } from './http/admission.ts'
import { createApp } from './http/app.ts'
import { createAuthorize } from './http/authorize.ts'
import { createClientAddress } from './http/client-address.ts'
import { HotAnswers } from './http/hot-answers.ts'
import type { Route } from './http/route.ts'
import { createRoutes } from './http/routes.ts'
import type { SourceBook } from './http/sources.ts'
import { UnderWay } from './http/under-way.ts'
import { createLimiter } from './limits/limiter.ts'
import { ApiKeys, sameSecret } from './registry/api-keys.ts'
import { createShapeCheck } from './registry/listing-shape.ts'
import { localSource } from './registry/local-source.ts'
import { localStatus } from './registry/local-status.ts'
import { Replica } from './registry/replica.ts'
import type { Opened } from './shared-parts.ts'
import type { Upstreams, UpstreamsOptions } from './upstreams-context.ts'

/** Everything that one configuration makes: loaded, and able to answer beside others. */
export type Configuration = {
  config: Config
  replica: Replica
  routes: readonly Route[]
  sources: SourceBook['sources']
  /** Answers HTTP requests. */
  listener: RequestListener
  /** Resolves when every upstream was asked once for what its first answer needs, with whatever outcome. */
  tried: () => Promise<void>
  /** Resolves when no request is being answered by it. */
  idle: () => Promise<void>
  /** Lets go of everything that no other configuration holds. */
  close: () => Promise<void>
}

/**
 * @param signal gives it up, however far it has come
 * @throws ConfigError when the filter spec cannot be used
 */
export const openConfiguration = async (
  config: Config,
  foundation: Foundation,
  signal?: AbortSignal,
): Promise<Configuration> => {
  const closers = new Closers()
  const hold = async <T>(key: string, open: () => Promise<Opened<T>>): Promise<T> => {
    const held = await foundation.parts.hold(key, open)
    closers.add(held.close)
    return held.value
  }
  try {
    const { store, clock, log, requests, traced } = foundation
    const spec = readFilterSpec(config.filterSpecPath)
    const replica = await hold(`replica ${spec.etag}`, () => openReplica(spec, foundation, signal))
    const keys = new ApiKeys(store, replica)
    const { upstreams, areTried, tried } = await openUpstreams({ config, spec, foundation, hold })
    const local = openLocal(config, spec, replica)
    const cursorSecret = config.adminKey ?? foundation.cursorSecret
    const federation = openFederation({ config, spec, local, upstreams, clock, cursorSecret })
    // Without upstreams it is a plain Registry, whose answers have no more members than the protocol gives them.
    const gateway = upstreams.length === 0 ? null : federation
    const { limits } = config
    const limiter = await hold(`limiter ${JSON.stringify(limits)}`, () => openLimiter(limits, foundation))
    const { recover, nowSeconds } = foundation
    const shape = { mode: config.registry.listingShape, check: createShapeCheck(spec.listingShape) }
    const { adminKey } = config
    const authorize = createAuthorize({
      requireReadKey: config.requireReadKey,
      requireWriteKey: config.requireWriteKey,
      keysRevealMore: config.upstreams.some(({ visibility }) => visibility === 'private'),
      isAdminKey: adminKey === null ? null : (token) => sameSecret(token, adminKey),
      recognise: (token) => keys.recognise(token),
    })
    const admit = createAdmission(limiter, createClientAddress(config.limits.trustedProxies))
    const routes = createRoutes({
      spec,
      registry: local && { store, replica, verifier: { limiter, recover, nowSeconds }, shape },
      keys,
      gateway,
      agents: openAgentsDoor(federation, log),
      metrics: foundation.metrics,
      metricsPublic: config.metricsPublic,
      store,
      areTried,
    })
    requests.cover(routes)
    const hot = new HotAnswers()
    const app = createApp({ routes, authorize, log, hot, admit, ...(traced && { traceOf: traced.traceOf }) })
    const underWay = new UnderWay()
    const { counter } = requests
    const listener = hot.listener({ authorize, admit, counter }, requests.listener(app.callback(), underWay))
    return {
      config,
      replica,
      routes,
      sources: gateway?.sources ?? [],
      listener,
      tried,
      idle: () => underWay.idle(),
      close: () => closers.close(),
    }
  } catch (cause) {
    await closers.close()
    throw cause
  }
}

const openReplica = async (
  { filters }: FilterSpec,
  { store, log, clock }: Foundation,
  signal?: AbortSignal,
): Promise<Opened<Replica>> => {
  const options = {
    filters: [...filters.values()],
    onFault: (cause: unknown) =>
      log.warn({ err: cause }, 'the store could not be followed; reads go on from memory'),
    onRecovery: () => log.info('the store is followed again'),
    clock,
  }
  const replica = await Replica.open(store, options, signal)
  return { value: replica, close: () => replica.close() }
}

/** What was counted goes on counting where the limits are the same. */
const openLimiter = async (
  limits: Config['limits'],
  { counters }: Foundation,
): Promise<Opened<ReturnType<typeof createLimiter>>> => ({
  value: createLimiter(limits, counters),
  close: () => {},
})

/** `null` for a pure gateway. */
const openLocal = ({ registry: { name, enabled } }: Config, spec: FilterSpec, replica: Replica) => {
  if (!enabled) return null
  const source: NamedSource = {
    name,
    visibility: 'public',
    mode: 'local',
    priority: 0,
    ask: withOtherFilters(name, spec.filters.values())(explained(localSource(replica))),
  }
  return { source, status: localStatus(name, spec, replica) }
}

/** Loads what talks to upstreams only where there is one: a third of what a start has to load. */
const openUpstreams = async (options: UpstreamsOptions): Promise<Upstreams> => {
  if (options.config.upstreams.length === 0)
    return { upstreams: [], areTried: () => true, tried: async () => {} }
  const upstreams = await import('./upstreams-context.ts')
  return upstreams.openUpstreams(options)
}
