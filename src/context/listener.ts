import type { RequestListener } from 'node:http'
import type { Config } from '../config/config.ts'
import { version } from '../config/shipped-files.ts'
import { openStoreProblem } from '../config/warnings.ts'
import { ANONYMOUS, type Caller, keyOf } from '../domain/api-key.ts'
import type { Limiter } from '../domain/limiter.ts'
import type { Reader } from '../domain/reader.ts'
import type { FilterSpec } from '../filter-spec/filter.ts'
import type { Market } from '../gateway/market.ts'
import { createApp } from '../http/app.ts'
import { InFlightRequests } from '../http/metrics/request-metrics.ts'
import { type Authorize, createAuthorize } from '../http/middleware/gate.ts'
import {
  createClientAddress,
  createRateLimit,
  createUnverifiedLimit,
  hashClient,
  type RateLimit,
} from '../http/middleware/rate-limit.ts'
import type { Route } from '../http/route.ts'
import type { Watching } from '../http/routes/changes.ts'
import type { Gateway } from '../http/routes/listings.ts'
import type { McpHandler } from '../http/routes/mcp.ts'
import type { Reload } from '../http/routes/replicas.ts'
import { createRoutes } from '../http/routes.ts'
import type { SignedLine } from '../http/signed-line/answer-signed.ts'
import { signedRoutes } from '../http/signed-line/routes.ts'
import { Watchers } from '../http/watchers.ts'
import type { Logger } from '../log.ts'
import { ApiKeys, sameSecret } from '../registry/api-keys.ts'
import { Blocks } from '../registry/blocks.ts'
import { registryView } from '../registry/publishers-in-view.ts'
import type { Replica } from '../registry/replica.ts'
import { createShapeCheck } from '../registry/write/listing-shape.ts'
import { localDenials } from './curation-rules.ts'
import type { ProcessScope } from './process.ts'

type ListenerOptions = {
  config: Config
  spec: FilterSpec
  replica: Replica
  limiter: Limiter
  scope: ProcessScope
  gateway: Gateway
  /** `null`: the service speaks the plain line only. */
  signedGateway: Gateway | null
  isReady: () => boolean
  reload: Reload
}

/** What answers requests, and its routes, for the documents of the API. */
export type Listening = {
  routes: readonly Route[]
  listener: RequestListener
  watchers: Watchers
  /** Resolves when no request is in flight. */
  idle: () => Promise<void>
}

export function createListener(options: ListenerOptions): Listening {
  const { config, scope, replica, gateway, signedGateway, limiter, isReady, reload } = options
  const { store, log, requests, onAnswered, tracer, nowSeconds, metrics, keyUsage, clock, fleet } = scope
  const { adminKey, registry, limits, metricsPublic } = config
  const keys = new ApiKeys(store, replica, config.keys)
  const authorize = authorizeBy(keys, options)
  const writes = config.registry.enabled ? writesTo(options) : null
  const watchers = new Watchers(config.changes)
  const audit = scope.auditOf(config.audit)
  const routesOf = (gateway: Gateway) =>
    createRoutes({
      gateway,
      registry: writes,
      audit,
      blocks: new Blocks(store, replica),
      keys,
      keyUsage,
      keysEndStart: !config.setsGates && openStoreProblem(config, 1) !== null,
      clock,
      watching: { watchers, maySee: maySeeStill(authorize, options), clock, random: scope.random },
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
  const rateLimit = countingUses(keyUsage, createRateLimit(limiter, clientAddress))
  const writerOf = (authorization: string | undefined): Caller => {
    try {
      return authorize('write', authorization)
    } catch {
      return ANONYMOUS
    }
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
    signedLine: signedLineOf(options, createUnverifiedLimit(limiter, clientAddress, writerOf)),
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

/** Runs once for each request that passed its gate. */
const countingUses =
  (keyUsage: ProcessScope['keyUsage'], limit: RateLimit): RateLimit =>
  (request, gate, caller, about) => {
    const key = keyOf(caller)
    if (key !== null) keyUsage.count(key.id)
    return limit(request, gate, caller, about)
  }

/** Whose requests pass which gate. */
function authorizeBy(keys: ApiKeys, { config, gateway, scope }: ListenerOptions) {
  const { adminKey, metricsKey } = config
  return createAuthorize({
    requireReadKey: config.requireReadKey || gateway.readers.anonymous === null,
    requireWriteKey: config.requireWriteKey,
    keysRevealMore: gateway.readers.keysRevealMore,
    operatorReads: config.upstreams.length > 0,
    isAdminKey: adminKey === null ? null : (token) => sameSecret(token, adminKey),
    isMetricsKey: (token) => metricsKey !== null && sameSecret(token, metricsKey),
    recognise: (token, options) => keys.recognise(token, options),
    now: () => scope.clock.now() * 1000,
  })
}

/** Whether a reader whose stream runs sees the same as when it began. */
const maySeeStill =
  (authorize: Authorize, { config, gateway, replica }: ListenerOptions): Watching['maySee'] =>
  ({ header, reader }) => {
    const authorization = header('authorization')
    if (authorization === undefined) return true
    const isSame = () => gateway.readers.of(authorize('read', authorization)).digest === reader.digest
    return replica.isCurrent(config.keys.trustSeconds * 1000) && passes(isSame, true)
  }

/** The own Registry, as its routes write to it. */
function writesTo({ config, spec, scope, replica, limiter, gateway }: ListenerOptions) {
  const { registry, limits } = config
  const { name } = registry
  const { store, nowSeconds } = scope
  return {
    name,
    denied: localDenials(config.curation, name),
    store,
    replica,
    verifier: { limiter, nowSeconds },
    shape: { mode: registry.listingShape, check: createShapeCheck(spec.listingShape) },
    maxListings: limits.listingsPerPublisher,
    requiresKey: config.requireWriteKey,
    viewOf: async (reader: Reader) => {
      const shown = await gateway.market.ownListings({ reader })
      return shown && registryView(replica.projection, shown)
    },
  }
}

function signedLineOf(
  { config, replica, scope }: ListenerOptions,
  limitUnverified: SignedLine['limitUnverified'],
): SignedLine | null {
  const { authority, registry, access } = config
  const { store, nowSeconds } = scope
  if (authority === null) return null
  return {
    signer: authority.signer,
    localName: registry.name,
    publisherWith: (id) => replica.projection.publisher(id),
    writes: registry.enabled ? { store, nowSeconds } : null,
    isPlainOpen: access.plain,
    limitUnverified,
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
