import type { Config } from '../config.ts'
import type { NamedSource } from '../domain/page.ts'
import type { FilterSpec } from '../filter-spec/filter.ts'
import { readFilterSpec } from '../filter-spec/load.ts'
import { explained } from '../gateway/explained.ts'
import { withOtherFilters } from '../gateway/with-other-filters.ts'
import type { SourceBook } from '../http/sources.ts'
import { createLimiter } from '../limits/limiter.ts'
import { localSource } from '../registry/local-source.ts'
import { localStatus } from '../registry/local-status.ts'
import { Replica } from '../registry/replica.ts'
import { Closers } from './closers.ts'
import type { Foundation } from './foundation.ts'
import { openFederation } from './gateway.ts'
import { type Listener, openListener } from './listener.ts'
import type { Opened } from './shared-parts.ts'
import type { Upstreams, UpstreamsOptions } from './upstreams.ts'

/** Everything that one configuration makes: loaded, and able to answer beside others. */
export type Configuration = Listener & {
  config: Config
  replica: Replica
  /** None without upstreams. */
  sources: SourceBook['sources']
  /** Resolves when every upstream was asked once for what its first answer needs, with whatever outcome. */
  tried: () => Promise<void>
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
    const { clock } = foundation
    const { limits } = config
    const spec = readFilterSpec(config.filterSpecPath)
    const replica = await hold(`replica ${spec.etag}`, () => openReplica(spec, foundation, signal))
    const { upstreams, areTried, tried } = await openUpstreams({ config, spec, foundation, hold })
    const local = openLocal(config, spec, replica)
    const cursorSecret = config.adminKey ?? foundation.cursorSecret
    const federation = openFederation({ config, spec, local, upstreams, clock, cursorSecret })
    const limiter = await hold(`limiter ${JSON.stringify(limits)}`, () => openLimiter(limits, foundation))
    const listening = openListener({ config, spec, foundation, replica, federation, limiter, areTried })
    return {
      config,
      replica,
      sources: upstreams.length === 0 ? [] : federation.sources,
      tried,
      ...listening,
      close: () => closers.close(),
    }
  } catch (cause) {
    await closers.close()
    throw cause
  }
}

const openReplica = async (
  { filters }: FilterSpec,
  { store, log, clock, onWorkerFault }: Foundation,
  signal?: AbortSignal,
): Promise<Opened<Replica>> => {
  const options = {
    filters: [...filters.values()],
    onFault: (cause: unknown) =>
      log.warn({ err: cause }, 'the store could not be followed; reads go on from memory'),
    onRecovery: () => log.info('the store is followed again'),
    onWorkerFault,
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
  const upstreams = await import('./upstreams.ts')
  return upstreams.openUpstreams(options)
}
