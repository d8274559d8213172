import type { Config } from '../config.ts'
import type { NamedSource } from '../domain/reading.ts'
import type { FilterSpec } from '../filter-spec/filter.ts'
import { readFilterSpec } from '../filter-spec/load.ts'
import type { SourceList } from '../http/routes/sources.ts'
import { createLimiter } from '../limits/limiter.ts'
import { localSource, localStatus } from '../registry/local-source.ts'
import { Replica } from '../registry/replica.ts'
import { Closers } from './closers.ts'
import type { Foundation } from './foundation.ts'
import { openFederation } from './gateway.ts'
import { type Listener, openListener } from './listener.ts'
import type { Opened } from './shared-parts.ts'
import type { Upstreams, UpstreamsOptions } from './upstreams.ts'

/** Everything that one configuration opens; several can answer at once. */
export type Configuration = Listener & {
  config: Config
  replica: Replica
  sources: SourceList['sources']
  /** Resolves when every upstream was requested once, with whatever outcome. */
  ready: () => Promise<void>
  close: () => Promise<void>
}

/** @throws ConfigError when the filter spec cannot be used */
export async function openConfiguration(
  config: Config,
  foundation: Foundation,
  signal?: AbortSignal,
): Promise<Configuration> {
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
    const { upstreams, isReady, ready } = await openUpstreams({ config, spec, foundation, hold })
    const local = openLocal({ config, spec, replica, now: clock.now })
    const cursorSecret = config.adminKey ?? foundation.cursorSecret
    const federation = openFederation({ config, spec, local, upstreams, clock, cursorSecret })
    const limiter = await hold(`limiter ${JSON.stringify(limits)}`, () => openLimiter(limits, foundation))
    const listening = openListener({ config, spec, foundation, replica, federation, limiter, isReady })
    return {
      config,
      replica,
      sources: upstreams.length === 0 ? [] : federation.sources,
      ready,
      ...listening,
      close: () => closers.close(),
    }
  } catch (cause) {
    await closers.close()
    throw cause
  }
}

async function openReplica(
  { filters }: FilterSpec,
  { store, storeHealth, clock, onWorkerFault }: Foundation,
  signal?: AbortSignal,
): Promise<Opened<Replica>> {
  const part = Symbol('replica')
  const options = {
    filters: [...filters.values()],
    onFault: (cause: unknown) => storeHealth.failed(part, cause),
    onRecovery: () => storeHealth.recovered(part),
    onWorkerFault,
    clock,
  }
  const replica = await Replica.open(store, options, signal)
  const close = (): void => {
    replica.close()
    storeHealth.recovered(part)
  }
  return { value: replica, close }
}

/** Counts survive a reload while the limits are the same. */
const openLimiter = async (
  limits: Config['limits'],
  { counters }: Foundation,
): Promise<Opened<ReturnType<typeof createLimiter>>> => ({
  value: createLimiter(limits, counters),
  close: () => {},
})

type LocalOptions = { config: Config; spec: FilterSpec; replica: Replica; now: () => number }

function openLocal({ config, spec, replica, now }: LocalOptions) {
  const { name, enabled } = config.registry
  if (!enabled) return null
  const source: NamedSource = {
    name,
    visibility: 'public',
    mode: 'local',
    priority: 0,
    read: localSource({ name, now }, replica, spec.filters.values()),
    storefrontOf: (publisher) => replica.projection.publisherOf(publisher)?.storefrontUrl,
  }
  return { source, status: localStatus(name, spec, replica) }
}

/** Loaded only for upstreams: a third of what a start loads. */
async function openUpstreams(options: UpstreamsOptions): Promise<Upstreams> {
  if (options.config.upstreams.length === 0)
    return { upstreams: [], isReady: () => true, ready: async () => {} }
  const upstreams = await import('./upstreams.ts')
  return upstreams.openUpstreams(options)
}
