import { lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import type {
  ApiRequest,
  ApiResponse,
  ClientOptions,
  RegistryClient,
} from '../cli/registries/registry-client.ts'
import type { Registry } from '../cli/registries/select-registries.ts'
import { shippedVocabulary } from '../config/vocabulary.ts'
import { type Clock, systemClock } from '../domain/clock.ts'
import { lazy } from '../domain/lazy.ts'
import { isLocalUrl } from '../domain/private-address.ts'
import type { UpstreamOptions } from '../domain/source/upstream.ts'
import { FilterSpecCache } from '../upstream/filter-spec-cache.ts'
import { createAgent } from '../upstream/http/agent.ts'
import { createGet, type Endpoint, type Interceptor, NOT_SENT, requestsTo } from '../upstream/http/request.ts'
import { CircuitBreaker } from '../upstream/interceptors/circuit-breaker.ts'
import { composeRequests } from '../upstream/interceptors/compose.ts'
import { limitConcurrency } from '../upstream/interceptors/limit-concurrency.ts'
import { createFetchPage, type FetchPage, MAX_PAGE_BYTES } from '../upstream/page/fetch-page.ts'
import { PublisherDirectory } from '../upstream/publisher-directory.ts'
import { PulledHolding } from '../upstream/pulled-holding.ts'

export function openRegistryClient({
  allowPrivateAddresses = true,
  ...around
}: ClientOptions & Around = {}): RegistryClient {
  const limits = { connectTimeoutMs: CONNECT_TIMEOUT_MS, maxInFlight: MAX_IN_FLIGHT }
  // Users name their Registries; storefront URLs come from sellers and are not trusted.
  const trusted = createAgent({ ...limits, allowPrivateAddresses }, lookup as LookupFunction)
  const publicOnly = createAgent({ ...limits, allowPrivateAddresses: false }, lookup as LookupFunction)
  const opened = new Map<string, RegistryRequests>()
  const requestsOf = (registry: Registry, timeoutMs: number): RegistryRequests => {
    const interceptors = [...(around.interceptors ?? []), ...signing(registry, around.clock)]
    const options = { ...around, interceptors }
    const requests =
      opened.get(registry.url) ?? openRequests(optionsOf(registry, timeoutMs), trusted, options)
    opened.set(registry.url, requests)
    return requests
  }
  const dispatcherOf = ({ registry, referredBy, timeoutMs }: ApiRequest): Dispatcher => {
    if (registry !== undefined) return requestsOf(registry, timeoutMs).dispatcher
    const isTrusted = referredBy === undefined || (!referredBy.fronts && isLocalUrl(referredBy.url))
    return composeRequests(isTrusted ? trusted : publicOnly, around.interceptors)
  }
  return {
    spec: (registry, timeoutMs) =>
      new FilterSpecCache(
        createGet(optionsOf(registry, timeoutMs), requestsOf(registry, timeoutMs).dispatcher),
        around.clock ?? systemClock,
      ),
    source: (registry, spec, { timeoutMs, specs, ...options }) => {
      const { dispatcher } = requestsOf(registry, timeoutMs)
      const upstream = optionsOf(registry, timeoutMs)
      const get = createGet(upstream, dispatcher)
      return new PulledHolding({
        upstream,
        fetch: createFetchPage(upstream, dispatcher),
        get,
        publishers: new PublisherDirectory(get, systemClock),
        spec,
        filters: () => [
          ...specs.flatMap(({ current }) => [...(current?.filters.values() ?? [])]),
          ...derivedFilters(),
        ],
        ...options,
        keepsOutage: around.hasBreakers !== true,
        clock: around.clock ?? systemClock,
      })
    },
    send: (request) => sendRequest(request, dispatcherOf(request)),
    close: async () => {
      for (const { close } of opened.values()) close()
      await Promise.all([trusted.destroy(), publicOnly.destroy()])
    },
  }
}

type Dispatcher = ReturnType<typeof composeRequests>

/** What is around the requests of a client. */
export type Around = Pick<ClientOptions, 'hasBreakers'> & {
  clock?: Clock
  /** Around each attempt of every request. */
  interceptors?: readonly Interceptor[] | undefined
}

type RegistryRequests = { dispatcher: Dispatcher; close: () => void }

function openRequests(
  upstream: RegistryOptions,
  agent: Dispatcher,
  { hasBreakers = false, clock = systemClock, interceptors }: Around,
): RegistryRequests {
  const probe: FetchPage = (query, request) => fetchProbe(query, request)
  const options = { upstream, probe, log: NO_LOG, shared: null, clock, random: Math.random }
  const breaker = hasBreakers ? new CircuitBreaker(options) : null
  const around = [limitConcurrency(MAX_IN_FLIGHT), ...(breaker === null ? [] : [breaker.intercept])]
  const dispatcher = composeRequests(agent, interceptors, around)
  const fetchProbe = createFetchPage(upstream, dispatcher, { purpose: 'probe' })
  return { dispatcher, close: () => breaker?.close() }
}

/** Signs requests to a Registry of the signed line. Its code is loaded with the first one. */
function signing({ url, signed }: Registry, clock: Clock = systemClock): Interceptor[] {
  if (signed === undefined) return []
  const { pin } = signed
  const load = async () => {
    const [{ signRequests }, identity] = await Promise.all([
      import('../upstream/interceptors/sign.ts'),
      signed.identity(),
    ])
    return signRequests({ identity, pin, url, clock })
  }
  let loaded: ReturnType<typeof load> | null = null
  return [
    (dispatch) => (request, handler) => {
      loaded ??= load()
      loaded
        .then((sign) => sign(dispatch)(request, handler))
        .catch((error: Error) => handler.onResponseError?.(NOT_SENT, error))
      return true
    },
  ]
}

/** Every answer names the Registries that it lacks, with the reason. */
const NO_LOG = { info: () => {}, warn: () => {} }

const CONNECT_TIMEOUT_MS = 3000
const MAX_IN_FLIGHT = 8
const derivedFilters = lazy(() => shippedVocabulary().filters(new Set()))

type RegistryOptions = Endpoint & Pick<UpstreamOptions, 'kind'>

function optionsOf({ url, key, signed }: Registry, timeoutMs: number): RegistryOptions {
  // The user named it, so a gateway's `_meta` is trusted; a plain Registry has none.
  const kind = signed === undefined ? 'gateway' : 'registry'
  return { name: url, url: url.replace(/\/+$/, ''), kind, key, timeoutMs }
}

async function sendRequest(
  { method, url, key, body, timeoutMs, requestId, waitSeconds = 0 }: ApiRequest,
  dispatcher: Dispatcher,
): Promise<ApiResponse> {
  const { origin, pathname, search } = new URL(url)
  const limitMs = timeoutMs + waitSeconds * 1000
  const send = requestsTo({ name: origin, url: origin, key, timeoutMs: limitMs }, dispatcher)
  const path = `${pathname}${search}`
  const headers = waitSeconds > 0 ? { prefer: `wait=${waitSeconds}` } : {}
  const asked = { method, path, headers, body, requestId } as const
  const request = { ...asked, purpose: 'command', maxBytes: MAX_PAGE_BYTES } as const
  const response = await send(request, (answer) => answer)
  const texts = Object.entries(response.headers).map(([name, value]) => [name, String(value ?? '')])
  return { status: response.status, headers: Object.fromEntries(texts), body: response.body }
}
