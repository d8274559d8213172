import type { RequestListener } from 'node:http'
import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../config/config.ts'
import { version } from '../config/shipped-files.ts'
import { keyOf } from '../domain/api-key.ts'
import type { Clock } from '../domain/clock.ts'
import type { Limiter } from '../domain/limiter.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import { SourceError } from '../domain/source/source-error.ts'
import type { SourceStatus } from '../domain/source/source-status.ts'
import { type Filter, type FilterSpec, filterIn, onSignedLine } from '../filter-spec/filter.ts'
import { readFilterSpec } from '../filter-spec/load.ts'
import { specWarnings } from '../filter-spec/parameters.ts'
import type { ChangeFeed, FollowedRegistry } from '../gateway/changes/change-feed.ts'
import { type Curation, rulesKey } from '../gateway/curation.ts'
import type { SpecSource } from '../gateway/current-spec.ts'
import { Cursors } from '../gateway/cursor.ts'
import { createMarket, type Market } from '../gateway/market.ts'
import { createReaders } from '../gateway/readers.ts'
import { type SignedSources, signedSources } from '../gateway/signed-source.ts'
import { noteOnHealth } from '../gateway/source-report.ts'
import { standingFilter } from '../gateway/standing-filter.ts'
import { createApp } from '../http/app.ts'
import { createContentTag } from '../http/etag.ts'
import { InFlightRequests } from '../http/metrics/request-metrics.ts'
import { createAuthorize } from '../http/middleware/authorize.ts'
import {
  createAddressLimit,
  createClientAddress,
  createRateLimit,
  hashClient,
  type RateLimit,
} from '../http/middleware/rate-limit.ts'
import type { Route } from '../http/route.ts'
import type { Watching } from '../http/routes/changes.ts'
import type { Gateway } from '../http/routes/listings.ts'
import type { McpHandler } from '../http/routes/mcp.ts'
import type { Reload } from '../http/routes/replicas.ts'
import type { SourceList } from '../http/routes/sources.ts'
import { createRoutes } from '../http/routes.ts'
import type { SignedLine } from '../http/signed-line/answer-signed.ts'
import { signedRoutes } from '../http/signed-line/routes.ts'
import { Watchers } from '../http/watchers.ts'
import { createLimiter } from '../limits/limiter.ts'
import type { Logger } from '../log.ts'
import { ApiKeys, sameSecret } from '../registry/api-keys.ts'
import { activeBlocks, Blocks } from '../registry/blocks.ts'
import { changedSince } from '../registry/changed-since.ts'
import { localSource, localStatus } from '../registry/local-source.ts'
import { storefrontInView } from '../registry/publishers-in-view.ts'
import { Replica } from '../registry/replica.ts'
import { createShapeCheck } from '../registry/write/listing-shape.ts'
import type { Upstream } from '../upstream/upstream.ts'
import type { Vocabulary } from '../vocabulary/vocabulary.ts'
import { curationRules, localDenials } from './curation-rules.ts'
import { CleanupStack, type ProcessScope } from './process.ts'
import type { Upstreams } from './upstreams.ts'

/** What one configuration makes. Several can answer at once. */
export type Runtime = Pick<Upstreams, 'ready' | 'activate' | 'stop'> & {
  config: Config
  spec: FilterSpec
  replica: Replica
  limiter: Limiter
  sources: SourceList['sources']
  routes: readonly Route[]
  listener: RequestListener
  watchers: Watchers
  /** Resolves when no request is in flight. */
  idle: () => Promise<void>
  /** Leaves open what `successor` uses too. */
  close: (successor: Runtime | null) => Promise<void>
}

type RuntimeOptions = {
  config: Config
  scope: ProcessScope
  /** Its index and its rate limits continue where the settings are the same. */
  previous: Runtime | null
  signal?: AbortSignal
  reload: Reload
}

/** @throws ConfigError when the filter spec cannot be used */
export async function openRuntime(options: RuntimeOptions): Promise<Runtime> {
  const { config, scope, previous, signal, reload } = options
  const { clock, storeHealth } = scope
  const fileSpec = readFilterSpec(config.filterSpecPath)
  const { vocabulary, registry } = config
  const isSameIndex =
    previous?.spec.signedEtag === fileSpec.signedEtag &&
    previous.config.vocabulary.tables.version === vocabulary.tables.version &&
    previous.config.registry.name === registry.name
  const spec = isSameIndex ? previous.spec : fileSpec
  const filters = [...spec.filters.values(), ...vocabulary.filters(spec.filters)]
  const replica = isSameIndex
    ? previous.replica
    : await openReplica(
        { spec, vocabulary, filters: filters.map((one) => filterIn(one, registry.name)) },
        scope,
        signal,
      )
  const closeReplica = (): void => {
    replica.close()
    storeHealth.recovered(spec)
  }
  const cleanup = new CleanupStack()
  if (!isSameIndex) cleanup.add(closeReplica)
  try {
    for (const { path, message } of [...specWarnings(fileSpec, config.filterSpecPath), ...config.warnings])
      scope.log.warn({ setting: path, problem: message }, 'configuration warning')
    const { upstreams, isReady, ...lifecycle } = await openUpstreams({ ...options, filters })
    cleanup.add(lifecycle.close)
    const local = createLocal({ config, spec, replica, filters }, clock.monotonic)
    const cursorSecret = config.adminKey ?? scope.cursorSecret
    const { changes: feed } = scope
    const blocks = {
      blocks: () => activeBlocks(replica.projection),
      onChange: (listener: () => void) => replica.onBlock(listener),
    }
    const sources = { config, spec, local, upstreams, clock, cursorSecret, blocks }
    const gateway = createGateway({ ...sources, feed })
    const all = [...(local === null ? [] : [local]), ...upstreams].map(({ source }) => source)
    const signed = config.authority === null ? null : signedSources(all)
    const signedGateway = signed && {
      ...createGateway({ ...sources, spec: onSignedLine(spec), signed }),
      countLeftOut: signed.countLeftOut,
    }
    const registry = local === null ? null : followedRegistry(scope.store, replica, config.registry.name)
    const endFollowing = feed.attach(all, registry)
    cleanup.add(endFollowing)
    const stopEnding = endDueBlocks(new Blocks(scope.store, replica), clock)
    cleanup.add(stopEnding)
    const limiter = isDeepStrictEqual(previous?.config.limits, config.limits)
      ? previous!.limiter
      : createLimiter(config.limits, scope.counters)
    const listening = createListener({
      config,
      spec,
      scope,
      replica,
      gateway,
      signedGateway,
      limiter,
      isReady,
      reload,
    })
    return {
      config,
      spec,
      replica,
      limiter,
      sources: upstreams.length === 0 ? [] : gateway.sources,
      ...listening,
      ...lifecycle,
      stop: () => {
        listening.watchers.stop()
        return lifecycle.stop()
      },
      activate: () => {
        feed.retentionMs = config.changes.retentionSeconds * 1000
        lifecycle.activate()
      },
      close: async (successor) => {
        endFollowing()
        stopEnding()
        gateway.market.close()
        signedGateway?.market.close()
        signed?.close()
        await lifecycle.close()
        if (successor?.replica !== replica) closeReplica()
      },
    }
  } catch (cause) {
    await cleanup.close()
    throw cause
  }
}

/** Longest time between the end of a block's last day and an entry of the changelog that ends it. */
const DUE_MS = 1000

/** Any replica may end a block; the store's clock decides. Returns how to stop. */
function endDueBlocks(blocks: Blocks, clock: Clock): () => void {
  let cancel = (): void => {}
  const next = (): void => {
    cancel = clock.after(DUE_MS, () => {
      // The next second tries again.
      blocks.endDue(clock.now() * 1000).catch(() => {})
      next()
    })
  }
  next()
  return () => cancel()
}

function openReplica(
  { spec, vocabulary, filters }: { spec: FilterSpec; vocabulary: Vocabulary; filters: readonly Filter[] },
  { store, storeHealth, clock, log, onWorkerFault }: ProcessScope,
  signal: AbortSignal | undefined,
): Promise<Replica> {
  const options = {
    filters,
    vocabulary,
    onFault: (cause: unknown) => storeHealth.failed(spec, cause),
    onRecovery: () => storeHealth.recovered(spec),
    onReload: (listings: object) => log.warn(listings, 'changelog lost, listings loaded again'),
    onWorkerFault,
    clock,
  }
  return Replica.open(store, options, signal)
}

/** Loaded only for upstreams: a third of what a start loads. */
async function openUpstreams({
  config,
  filters,
  scope,
  previous,
}: RuntimeOptions & { filters: readonly Filter[] }): Promise<Upstreams> {
  if (config.upstreams.length === 0 && (previous?.sources ?? []).length === 0) return NO_UPSTREAMS
  const upstreams = await import('./upstreams.ts')
  return upstreams.openUpstreams({ config, filters, scope })
}

const NO_UPSTREAMS: Upstreams = {
  upstreams: [],
  isReady: () => true,
  ready: Promise.resolve(),
  activate: () => {},
  stop: async () => {},
  close: async () => {},
}

function followedRegistry(store: ProcessScope['store'], replica: Replica, name: string): FollowedRegistry {
  return {
    name,
    position: () => replica.position,
    catchUp: () => replica.catchUp(),
    changedSince: (position) => changedSince(store, position),
  }
}

/** `null` for a pure gateway. */
type LocalRegistry = { source: NamedSource; status: () => SourceStatus } | null

function createLocal(
  {
    config,
    spec,
    replica,
    filters,
  }: Pick<Runtime, 'config' | 'spec' | 'replica'> & { filters: readonly Filter[] },
  now: () => number,
): LocalRegistry {
  const { name, enabled } = config.registry
  if (!enabled) return null
  const source: NamedSource = {
    name,
    visibility: 'public',
    mode: 'local',
    priority: 0,
    ...localSource({ name, now }, replica, filters),
    storefrontOf: (publisher, within) => storefrontInView(replica.projection, publisher, { name, ...within }),
  }
  return { source, status: localStatus(name, spec, replica) }
}

type GatewayOptions = {
  config: Pick<Config, 'gateway' | 'cache' | 'tokens' | 'vocabulary'> &
    Partial<Pick<Config, 'access' | 'curation' | 'views'>>
  spec: FilterSpec
  local: LocalRegistry
  upstreams: readonly Upstream[]
  clock: Clock
  cursorSecret: string
  /** The sources as readers of the signed line have them. */
  signed?: SignedSources
  /** Absent: changes are not followed. */
  feed?: ChangeFeed
  /** Absent: the operator leaves nothing out. */
  blocks?: Pick<Curation, 'blocks' | 'onChange'>
}

export function createGateway(options: GatewayOptions): Gateway {
  const { config, spec, local, upstreams, clock, cursorSecret, feed, blocks } = options
  const { id: gatewayId, budgetMs } = config.gateway
  const derived = config.vocabulary.filters(spec.filters)
  const filters = new Map([...spec.filters, ...derived.map((filter) => [filter.name, filter] as const)])
  const names = upstreams.map(({ source }) => source.name)
  const rules = config.curation ? curationRules(config.curation, { filters, upstreams: names }) : []
  const all = [...(local === null ? [] : [local]), ...upstreams]
  const shown = options.signed?.sources ?? all.map(({ source }) => source)
  const specs = [...(local === null ? [] : [undefined]), ...upstreams.map(specSource)]
  const market = createMarket({
    sources: all.map(({ status }, n) => ({
      source: shown[n]!,
      spec: specs[n],
      health: () => noteOnHealth(status()),
    })),
    spec,
    gatewayId,
    tokens: config.tokens,
    vocabulary: config.vocabulary,
    announcesPrivate: config.access?.announcePrivate === true,
    budgetMs,
    clock,
    ...(feed && { feed }),
    curation: blocks && { rules, ...blocks },
    cursors: new Cursors(cursorSecret, () => clock.now() / 1000),
  })
  const { freshSeconds } = config.cache
  const readers = createReaders({
    sources: all.map(({ source }) => source),
    rulesOf: (source) => rulesKey(rules, source),
    tables: [spec.etag, JSON.stringify(config.tokens.all), config.vocabulary.tables.version],
    views: config.views?.map(({ name, sources, filter, placeOf, ...limits }) => ({
      name,
      sources,
      filter: standingFilter(filters, filter, placeOf),
      limits: { requestsPerMinute: limits.requestsPerMinute, maxWatchers: limits.maxWatchersPerReader },
    })),
    access: config.access,
  })
  const contentTag = createContentTag(cursorSecret)
  return { market, readers, spec, derived, gatewayId, freshSeconds, clock, contentTag, sources: all }
}

function specSource({ spec, status }: Upstream): SpecSource {
  let isLoaded = false
  void spec.loaded.then(() => {
    isLoaded = true
  })
  return {
    ...spec,
    load: () => (isLoaded ? null : spec.loaded),
    failure: () => {
      const { lastError } = status()
      return lastError && new SourceError(lastError.reason, `${spec.name}: its filter spec is not known`)
    },
  }
}

type ListenerOptions = Pick<Runtime, 'config' | 'spec' | 'replica' | 'limiter'> & {
  scope: ProcessScope
  gateway: Gateway
  /** `null`: the service speaks the plain line only. */
  signedGateway: (Gateway & Pick<SignedSources, 'countLeftOut'>) | null
  isReady: () => boolean
  reload: Reload
}

function createListener(
  options: ListenerOptions,
): Pick<Runtime, 'routes' | 'listener' | 'idle' | 'watchers'> {
  const { config, spec, scope, replica, gateway, signedGateway, limiter, isReady, reload } = options
  const { store, log, requests, onAnswered, tracer, nowSeconds, metrics, keyUsage, clock, fleet } = scope
  const { adminKey, metricsKey, registry, limits, metricsPublic } = config
  const keys = new ApiKeys(store, replica, config.keys)
  const authorize = createAuthorize({
    requireReadKey: config.requireReadKey || gateway.readers.anonymous === null,
    requireWriteKey: config.requireWriteKey,
    keysRevealMore: gateway.readers.keysRevealMore,
    operatorReads: config.upstreams.length > 0,
    isAdminKey: adminKey === null ? null : (token) => sameSecret(token, adminKey),
    isMetricsKey: (token) => metricsKey !== null && sameSecret(token, metricsKey),
    recognise: (token, options) => keys.recognise(token, options),
    now: () => clock.now() * 1000,
  })
  const writes = registry.enabled
    ? {
        name: registry.name,
        denied: localDenials(config.curation, registry.name),
        store,
        replica,
        verifier: { limiter, nowSeconds },
        shape: { mode: registry.listingShape, check: createShapeCheck(spec.listingShape) },
        maxListings: limits.listingsPerPublisher,
        requiresKey: config.requireWriteKey,
      }
    : null
  const watchers = new Watchers(config.changes)
  const maySee: Watching['maySee'] = ({ header, reader }) => {
    const authorization = header('authorization')
    if (authorization === undefined) return true
    const isSame = () => gateway.readers.of(authorize('read', authorization)).digest === reader.digest
    return replica.isCurrent(config.keys.trustSeconds * 1000) && passes(isSame, true)
  }
  const audit = scope.auditOf(config.audit)
  const routesOf = (gateway: Gateway) =>
    createRoutes({
      gateway,
      registry: writes,
      audit,
      blocks: new Blocks(store, replica),
      keys,
      keyUsage,
      clock,
      watching: { watchers, maySee, clock, random: scope.random },
      mcp: createMcpHandler(gateway.market, log),
      metrics,
      metricsPublic,
      mayReadMetrics: (authorization) => passes(() => authorize('metrics', authorization)),
      store,
      readFleet: () => fleet.read(),
      reload,
      isReady,
      // What it answers without a key is not of the store.
      answersWithoutStore: !registry.enabled && !config.requireReadKey,
    })
  const routes = routesOf(gateway)
  const clientAddress = createClientAddress(limits.trustedProxies)
  const nameClient = config.logClients
    ? clientAddress
    : hashClient(clientAddress, adminKey ?? scope.cursorSecret)
  const limit = createRateLimit(limiter, clientAddress)
  /** Runs once for each request that passed its gate. */
  const rateLimit: RateLimit = (request, gate, caller, about) => {
    const key = keyOf(caller)
    if (key !== null) keyUsage.count(key.id)
    return limit(request, gate, caller, about)
  }
  const inFlight = new InFlightRequests()
  const app = createApp({
    routes,
    authorize,
    readerOf: gateway.readers.of,
    whenVerifiable: () => (keys.isVerifiable() ? null : keys.areVerifiable()),
    rateLimit,
    audit,
    clientAddress,
    nameClient,
    signedLine: signedLineOf(options, createAddressLimit(limiter, clientAddress)),
    signedRoutes: signedRoutes(
      signedGateway === null ? routes : routesOf(signedGateway),
      writes && { ...writes, authority: config.authority?.id ?? '', nowSeconds },
    ),
    metrics: requests,
    inFlight,
    tracer,
    onAnswered,
    log,
  })
  return { routes, listener: app.callback(), idle: () => inFlight.idle(), watchers }
}

function signedLineOf(
  { config, replica, scope, signedGateway }: ListenerOptions,
  limitAddress: SignedLine['limitAddress'],
): SignedLine | null {
  const { authority, registry, access } = config
  const { store, nowSeconds } = scope
  if (authority === null) return null
  return {
    signer: authority.signer,
    localName: registry.name,
    countLeftOut: () => signedGateway?.countLeftOut() ?? 0,
    publisherWith: (id) => replica.projection.publisher(id),
    writes: registry.enabled ? { store, nowSeconds } : null,
    isPlainOpen: access.plain,
    limitAddress,
    nowSeconds,
  }
}

/** The agents' tools over what a reader sees. Loads the protocol with the first request. */
export function createMcpHandler(market: Market, log: Logger): McpHandler {
  return async (request, { reader, signal, trace }) => {
    const { handleHttp } = await import('../mcp/server.ts')
    return handleHttp(request, market, {
      reader,
      trace,
      version: version(),
      signal,
      onError: (cause) => log.error({ err: cause }, 'unhandled error in a tool'),
    })
  }
}

/** @param expected what the check has to give; absent: anything */
function passes(check: () => unknown, expected?: unknown): boolean {
  try {
    const result = check()
    return expected === undefined || result === expected
  } catch {
    return false
  }
}
