import { lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import type {
  ApiRequest,
  ApiResponse,
  ClientOptions,
  RegistryClient,
} from '../cli/registries/registry-client.ts'
import type { Registry } from '../cli/registries/select-registries.ts'
import { type Clock, systemClock } from '../domain/clock.ts'
import { isLocalUrl } from '../domain/private-address.ts'
import type { Source } from '../domain/source/reading.ts'
import type { UpstreamOptions } from '../domain/source/upstream.ts'
import { unsentFilters } from '../filter-spec/parameters.ts'
import { CircuitBreaker } from '../upstream/call/circuit-breaker.ts'
import { limitConcurrency } from '../upstream/call/limit-concurrency.ts'
import { pushDownFilters } from '../upstream/filter-pushdown.ts'
import { createAgent } from '../upstream/http/agent.ts'
import { ACCEPT_ENCODING, send } from '../upstream/http/client.ts'
import { createGet } from '../upstream/http/get.ts'
import { liveSource, refuseLongScan } from '../upstream/live-source.ts'
import { createFetchPage, MAX_PAGE_BYTES } from '../upstream/page/fetch-page.ts'
import { PublisherDirectory } from '../upstream/publisher-directory.ts'
import { readRun } from '../upstream/reading/read-run.ts'

type Agent = ReturnType<typeof createAgent>

export function openRegistryClient({
  hasBreakers = false,
  allowPrivateAddresses = true,
  clock = systemClock,
}: ClientOptions & { clock?: Clock } = {}): RegistryClient {
  const limits = { connectTimeoutMs: CONNECT_TIMEOUT_MS, maxInFlight: MAX_IN_FLIGHT }
  // Users name their Registries; storefront URLs come from sellers and are not trusted.
  const trusted = createAgent({ ...limits, allowPrivateAddresses }, lookup as LookupFunction)
  const publicOnly = createAgent({ ...limits, allowPrivateAddresses: false }, lookup as LookupFunction)
  const agentOf = ({ referredBy }: ApiRequest): Agent =>
    referredBy === undefined || isLocalUrl(referredBy.url) ? trusted : publicOnly
  const breakers = new Map<string, CircuitBreaker>()
  const breakerOf = (registry: Registry, timeoutMs: number): CircuitBreaker | null => {
    const { url: name } = registry
    if (hasBreakers && !breakers.has(name)) {
      const probe = createFetchPage(upstreamOptions(registry, timeoutMs), trusted)
      const options = { name, probe, log: NO_LOG, shared: null, clock, random: Math.random }
      breakers.set(name, new CircuitBreaker(options))
    }
    return breakers.get(name) ?? null
  }
  return {
    source: (registry, timeoutMs, spec) => {
      const breaker = breakerOf(registry, timeoutMs)
      const source = openSource(upstreamOptions(registry, timeoutMs), trusted, breaker)
      return spec === undefined ? source : pushDownFilters({ name: registry.url, spec, schema: null }, source)
    },
    send: async (request) => {
      const { registry, timeoutMs } = request
      const breaker = registry === undefined ? null : breakerOf(registry, timeoutMs)
      const call = () => sendRequest(agentOf(request), request)
      return breaker === null ? call() : breaker.guardCall(call)
    },
    close: async () => {
      for (const breaker of breakers.values()) breaker.close()
      await Promise.all([trusted.destroy(), publicOnly.destroy()])
    },
  }
}

/** Every answer names the Registries that it lacks, with the reason. */
const NO_LOG = { info: () => {}, warn: () => {} }

const CONNECT_TIMEOUT_MS = 3000
const MAX_IN_FLIGHT = 8
/** Most listings read of one Registry to apply a filter that it lacks. */
const SCAN_LIMIT = 2000

const upstreamOptions = ({ url, key }: Registry, timeoutMs: number): UpstreamOptions => ({
  name: url,
  url: url.replace(/\/+$/, ''),
  // The user named it, so a gateway's `_meta` is trusted; a plain Registry has none.
  kind: 'gateway',
  visibility: 'public',
  mode: 'live',
  key,
  priority: 0,
  timeoutMs,
  connectTimeoutMs: Math.min(CONNECT_TIMEOUT_MS, timeoutMs),
  maxInFlight: MAX_IN_FLIGHT,
  refreshSeconds: 0,
  scanLimit: SCAN_LIMIT,
  maxListings: 0,
  allowPrivateAddresses: true,
})

function openSource(upstream: UpstreamOptions, agent: Agent, breaker: CircuitBreaker | null): Source {
  const fetchPage = limitConcurrency(upstream, createFetchPage(upstream, agent))
  const fetch = breaker?.guard(fetchPage) ?? fetchPage
  const publishers = new PublisherDirectory(createGet(upstream, agent), systemClock)
  const check = refuseLongScan(upstream)
  const runs = {
    read: async (...[query, range]: Parameters<Source>) => {
      const isScan = !Number.isFinite(range.count) && unsentFilters(query).length > 0
      const options = { upstream, fetch, clock: systemClock }
      const run = await readRun(isScan ? { ...options, check } : options, query, range)
      return { run, ...UNCACHED }
    },
  }
  return liveSource({ upstream, runs, publishers })
}

const UNCACHED = {
  stale: false,
  cache: { outcome: 'miss', ttlSeconds: 0 },
  isCurrent: () => false,
} as const

async function sendRequest(agent: Agent, request: ApiRequest): Promise<ApiResponse> {
  const { method, url, key, body, timeoutMs } = request
  const { origin, pathname, search } = new URL(url)
  const headers = {
    accept: 'application/json',
    'accept-encoding': ACCEPT_ENCODING,
    'user-agent': 'entrepot',
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(key === null ? {} : { authorization: `Bearer ${key}` }),
  }
  const path = `${pathname}${search}`
  const sent = { origin, path, method, headers, body, maxBytes: MAX_PAGE_BYTES, timeoutMs }
  const response = await send(agent, sent, origin)
  const texts = Object.entries(response.headers).map(([name, value]) => [name, String(value ?? '')])
  return { status: response.status, headers: Object.fromEntries(texts), body: response.body }
}
