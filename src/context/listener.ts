import type { RequestListener } from 'node:http'
import type { Config } from '../config.ts'
import type { Limiter } from '../domain/limiter.ts'
import type { FilterSpec } from '../filter-spec/filter.ts'
import { createApp } from '../http/app.ts'
import { InFlightRequests } from '../http/metrics/request-metrics.ts'
import { createAuthorize } from '../http/middleware/authorize.ts'
import { createClientAddress, createRateLimit } from '../http/middleware/rate-limit.ts'
import { ResponseCache } from '../http/response-cache.ts'
import type { Route } from '../http/route.ts'
import { createRoutes } from '../http/routes.ts'
import { ApiKeys, sameSecret } from '../registry/api-keys.ts'
import type { Replica } from '../registry/replica.ts'
import { createShapeCheck } from '../registry/write/listing-shape.ts'
import { openAgentsDoor } from './agents.ts'
import type { Foundation } from './foundation.ts'
import type { openFederation } from './gateway.ts'

type ListenerParts = {
  config: Config
  spec: FilterSpec
  foundation: Foundation
  replica: Replica
  federation: ReturnType<typeof openFederation>
  limiter: Limiter
  isReady: () => boolean
}

export type Listener = {
  routes: readonly Route[]
  listener: RequestListener
  idle: () => Promise<void>
}

export function openListener(parts: ListenerParts): Listener {
  const { config, spec, foundation, replica, federation, limiter, isReady } = parts
  const { store, log, requests, traced, recover, nowSeconds, metrics } = foundation
  const { adminKey, registry, limits, metricsPublic } = config
  const keys = new ApiKeys(store, replica)
  const shape = { mode: registry.listingShape, check: createShapeCheck(spec.listingShape) }
  const routes = createRoutes({
    spec,
    registry: registry.enabled
      ? {
          store,
          replica,
          verifier: { limiter, recover, nowSeconds },
          shape,
          maxListings: limits.listingsPerPublisher,
        }
      : null,
    keys,
    // A plain Registry without upstreams answers with the protocol's members only.
    gateway: config.upstreams.length === 0 ? null : federation,
    mcp: openAgentsDoor(federation, log),
    metrics,
    metricsPublic,
    isOperator: (authorization) => passes(() => authorize('admin', authorization)),
    store,
    isReady,
  })
  requests.addRoutes(routes)
  const authorize = createAuthorize({
    requireReadKey: config.requireReadKey,
    requireWriteKey: config.requireWriteKey,
    keysRevealMore: config.upstreams.some(({ visibility }) => visibility === 'private'),
    isAdminKey: adminKey === null ? null : (token) => sameSecret(token, adminKey),
    recognise: (token) => keys.recognise(token),
  })
  const rateLimit = createRateLimit(limiter, createClientAddress(limits.trustedProxies))
  const responseCache = new ResponseCache()
  const app = createApp({
    routes,
    authorize,
    log,
    responseCache,
    rateLimit,
    ...(traced && { traceOf: traced.traceOf }),
  })
  const inFlight = new InFlightRequests()
  const observe = requests.observer(inFlight)
  const answer = responseCache.listener(
    { authorize, rateLimit, counter: requests.counter, observe },
    app.callback(),
  )
  const listener: RequestListener = (request, response) => {
    if (request.headers.authorization === undefined || replica.isCurrent()) return answer(request, response)
    void keys.areVerifiable().then(() => {
      if (!response.destroyed) answer(request, response)
    })
  }
  return { routes, listener, idle: () => inFlight.idle() }
}

function passes(gate: () => unknown): boolean {
  try {
    gate()
    return true
  } catch {
    return false
  }
}
