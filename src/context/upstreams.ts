import type { Config } from '../config/config.ts'
import type { UpstreamOptions } from '../domain/source/upstream.ts'
import type { Filter } from '../filter-spec/filter.ts'
import { pathKey } from '../filter-spec/path.ts'
import type { UpstreamSpec } from '../filter-spec/upstream-spec.ts'
import { TEXTS } from '../gateway/counts/vocabulary-report.ts'
import { onlyOf } from '../gateway/rules.ts'
import { createAgent } from '../upstream/http/agent.ts'
import { signRequests } from '../upstream/interceptors/sign.ts'
import { createUpstream, type Upstream } from '../upstream/upstream.ts'
import { curationRules } from './curation-rules.ts'
import type { ProcessScope } from './process.ts'

export type Upstreams = {
  upstreams: readonly Upstream[]
  /** Resolves when what was saved is held, and the pulls have begun. Only what follows the sources by then sees all changes. */
  start: () => Promise<void>
  isReady: () => boolean
  /** Resolves when each was requested once, with any outcome. */
  ready: Promise<unknown>
  /** Applies the limits of the configuration, and drops what was learnt of other upstreams. */
  activate: () => void
  /** Ends the pulls. Readers can still read. */
  stop: () => Promise<void>
  /** After the last reader has its answer. */
  close: () => Promise<void>
}

/** Upstreams that may be asked in one moment, each period again. */
const MOST_AT_ONCE = 100

/** `filters`: of the service itself. */
type UpstreamsOptions = { config: Config; filters: readonly Filter[]; scope: ProcessScope }

export async function openUpstreams({ config, filters: own, scope }: UpstreamsOptions): Promise<Upstreams> {
  const { clock, random, log, resolver, interceptors } = scope
  const { id: gatewayId, schema, budgetMs } = config.gateway
  const narrowed = { cache: config.cache, upstreams: narrow(config, own) }
  const caches = await scope.upstreamCaches()
  caches.prepare(narrowed)
  let known: { specs: readonly (UpstreamSpec | null)[]; filters: readonly Filter[] } | null = null
  /** One of each path, of all that readers may use here: the index has their columns. */
  const filters = (): readonly Filter[] => {
    const specs = opened.map(({ upstream }) => upstream.spec.current)
    if (known?.specs.every((spec, n) => spec === specs[n]) === true) return known.filters
    const all = [...own, ...TEXTS, ...specs.flatMap((spec) => [...(spec?.filters.values() ?? [])])]
    known = { specs, filters: [...new Map(all.map((one) => [pathKey(one.compiled), one])).values()] }
    return known.filters
  }
  const opened = narrowed.upstreams.map((options, n) => {
    const { pin, url } = options
    const { snapshots, release, ...cached } = caches.partsOf(options)
    const { stats } = cached.state
    const agent = createAgent(options, resolver.lookup, (endsAt) => {
      stats.certificateEndsAt = endsAt
    })
    const upstream = createUpstream({
      upstream: options,
      agent,
      interceptors:
        pin === null
          ? interceptors
          : [...(interceptors ?? []), signRequests({ identity: config.identity!, pin, url, clock })],
      gatewayId,
      schema,
      budgetMs,
      freshSeconds: config.cache.freshSeconds,
      ...cached,
      snapshots: { ...snapshots, filters },
      log,
      clock,
      random,
      head: narrowed.upstreams.length > MOST_AT_ONCE ? n / narrowed.upstreams.length : 0,
    })
    return { upstream, agent, release }
  })
  const upstreams = opened.map(({ upstream }) => upstream)
  return {
    upstreams,
    start: async () => {
      for (const upstream of upstreams) await upstream.start()
    },
    isReady: () => upstreams.every(({ isReady }) => isReady()),
    ready: Promise.all(upstreams.map(({ ready }) => ready)),
    activate: () => caches.activate(narrowed),
    stop: async () => void (await Promise.all(upstreams.map(({ stop }) => stop()))),
    close: async () => {
      await Promise.all(upstreams.map(({ close }) => close()))
      await Promise.all(opened.map(({ agent }) => agent.destroy()))
      for (const { release } of opened) release()
    },
  }
}

/** With what the rules keep of each. A derived filter means what the vocabulary says. */
function narrow(
  { curation, upstreams, vocabulary }: Config,
  filters: readonly Filter[],
): readonly UpstreamOptions[] {
  const known = new Map(filters.map((filter) => [filter.name, filter]))
  const rules = curationRules(curation, { filters: known, upstreams: upstreams.map(({ name }) => name) })
  return upstreams.map((upstream) => {
    const only = onlyOf(rules, upstream.name)
    if (only.criteria.length === 0) return upstream
    return { ...upstream, only: { ...only, key: `${only.key} ${vocabulary.tables.version}` } }
  })
}
