import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../config/config.ts'
import { type Clock, repeat } from '../domain/clock.ts'
import type { Limiter } from '../domain/limiter.ts'
import type { Item } from '../domain/source/item.ts'
import { inTurns } from '../domain/turns.ts'
import { type Filter, type FilterSpec, filterIn, onSignedLine } from '../filter-spec/filter.ts'
import { readFilterSpec } from '../filter-spec/load.ts'
import { specWarnings } from '../filter-spec/parameters.ts'
import type { FollowedRegistry } from '../gateway/changes/stored-log.ts'
import { TEXTS } from '../gateway/counts/vocabulary-report.ts'
import type { Reload } from '../http/routes/replicas.ts'
import type { SourceList } from '../http/routes/sources.ts'
import { createLimiter } from '../limits/limiter.ts'
import { activeBlocks, Blocks, subjectsOf } from '../registry/blocks.ts'
import { Replica } from '../registry/replica.ts'
import type { Vocabulary } from '../vocabulary/vocabulary.ts'
import { createLocal, type GatewayOptions, openGateway } from './gateway.ts'
import { createListener, type Listening } from './listener.ts'
import { CleanupStack, type ProcessScope } from './process.ts'
import type { Upstreams } from './upstreams.ts'
/** What one configuration makes. Several can answer at once. */
export type Runtime = Pick<Upstreams, 'ready' | 'activate' | 'stop'> &
  Listening & {
    config: Config
    spec: FilterSpec
    replica: Replica
    limiter: Limiter
    sources: SourceList['sources']
    /** Differences that a check of its markets finds now. */
    selfCheck: () => number
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
  const { config, scope, previous, reload } = options
  const { clock, storeHealth } = scope
  const fileSpec = readFilterSpec(config.filterSpecPath)
  const { isSameIndex, spec, filters, replica } = await openIndex(options, fileSpec)
  const closeReplica = (): void => {
    replica.close()
    storeHealth.recovered(spec)
  }
  const cleanup = new CleanupStack()
  const dropReplica = (): Promise<void> => {
    closeReplica()
    return replica.projection.drop()
  }
  if (!isSameIndex) cleanup.add(dropReplica)
  try {
    for (const { path, message } of [...specWarnings(fileSpec, config.filterSpecPath), ...config.warnings])
      scope.log.warn({ setting: path, problem: message }, 'configuration warning')
    const { upstreams, isReady, start, ...lifecycle } = await openUpstreams({ ...options, filters })
    cleanup.add(lifecycle.close)
    const local = createLocal({ config, spec, replica }, clock)
    const parts = { spec, replica, local, upstreams }
    const { all, gateway, signedGateway, markets } = await openGateways(options, parts)
    const registry = local === null ? null : followedRegistry(replica, config.registry.name)
    const closeMarkets = () => {
      for (const market of markets) market.close()
    }
    cleanup.add(closeMarkets)
    const isDenied = (item: Item, name: string) => gateway.market.rulesOf(name)?.denies(item) === true
    const endFollowing = scope.changes.attach({ sources: all, registry, isDenied })
    cleanup.add(endFollowing)
    await start()
    const stopEnding = endDueBlocks(new Blocks(scope.store, replica), clock)
    cleanup.add(stopEnding)
    const limiter = isDeepStrictEqual(previous?.config.limits, config.limits)
      ? previous!.limiter
      : createLimiter(config.limits, scope.counters)
    const made = { config, spec, replica, limiter }
    const listening = createListener({ ...made, scope, gateway, signedGateway, isReady, reload })
    return {
      ...made,
      sources: upstreams.length === 0 ? [] : gateway.sources,
      selfCheck: () => markets.reduce((sum, market) => sum + market.selfCheck(), 0),
      ...listening,
      ...lifecycle,
      stop: () => {
        listening.watchers.stop()
        return lifecycle.stop()
      },
      activate: () => {
        scope.changes.stored.retentionMs = config.changes.retentionSeconds * 1000
        lifecycle.activate()
      },
      close: async (successor) => {
        // The last changes of its pulls are followed, too.
        await lifecycle.stop()
        endFollowing()
        stopEnding()
        closeMarkets()
        await lifecycle.close()
        if (successor === null) closeReplica()
        else if (successor.replica !== replica) await dropReplica()
      },
    }
  } catch (cause) {
    await cleanup.close()
    throw cause
  }
}

/** The index of the own Registry: that of the previous runtime where the settings that it follows are the same. */
async function openIndex({ config, scope, previous, signal }: RuntimeOptions, fileSpec: FilterSpec) {
  const { vocabulary, registry } = config
  const isSameIndex =
    previous?.spec.signedEtag === fileSpec.signedEtag &&
    previous.config.vocabulary.tables.version === vocabulary.tables.version &&
    previous.config.registry.name === registry.name
  const spec = isSameIndex ? previous.spec : fileSpec
  const filters = [...spec.filters.values(), ...vocabulary.filters(spec.filters)]
  const local = filters.map((one) => filterIn(one, registry.name))
  if (!isSameIndex) await inTurns(scope.index.replan([...local, ...TEXTS]))
  const replica = isSameIndex
    ? previous.replica
    : await openReplica({ spec, vocabulary, name: registry.name }, scope, signal)
  return { isSameIndex, spec, filters, replica }
}

type Parts = Pick<GatewayOptions, 'spec' | 'local' | 'upstreams'> & { replica: Replica }

/** The gateway of the plain line, and that of the signed line over the same sources. */
async function openGateways({ config, scope }: RuntimeOptions, { replica, ...parts }: Parts) {
  const { clock, index, changes: feed } = scope
  const cursorSecret = config.adminKey ?? scope.cursorSecret
  const blocks = {
    blocks: () =>
      activeBlocks(replica.projection).map(({ id, source, subject }) => {
        return { id, source, subjects: subjectsOf(subject, replica.projection) }
      }),
    onChange: (listener: () => void) => replica.onBlock(listener),
  }
  const sources = { config, ...parts, index, clock, cursorSecret, blocks }
  const gateway = await openGateway({ ...sources, feed })
  const all = [...(parts.local === null ? [] : [parts.local]), ...parts.upstreams].map(({ source }) => source)
  const signed = { ...sources, spec: onSignedLine(parts.spec), isSigned: true }
  const signedGateway = config.authority === null ? null : await openGateway(signed)
  const markets = [gateway, ...(signedGateway === null ? [] : [signedGateway])].map(({ market }) => market)
  return { all, gateway, signedGateway, markets }
}

/** Longest time between the end of a block's last day and an entry of the changelog that ends it. */
const DUE_MS = 1000

/** Any replica may end a block; the store's clock decides. Returns how to stop. */
function endDueBlocks(blocks: Blocks, clock: Clock): () => void {
  // The next second tries again.
  return repeat(clock, DUE_MS, () => void blocks.endDue(clock.now() * 1000).catch(() => {}))
}

function openReplica(
  { spec, vocabulary, name }: { spec: FilterSpec; vocabulary: Vocabulary; name: string },
  { store, index, storeHealth, clock, log, onWorkerFault }: ProcessScope,
  signal: AbortSignal | undefined,
): Promise<Replica> {
  const options = {
    index,
    name,
    vocabulary,
    // A replica is known by its spec, which a runtime that continues it has, too.
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
  start: async () => {},
  isReady: () => true,
  ready: Promise.resolve(),
  activate: () => {},
  stop: async () => {},
  close: async () => {},
}

function followedRegistry(replica: Replica, name: string): FollowedRegistry {
  return {
    name,
    position: () => replica.position,
    catchUp: () => replica.catchUp(),
    changedSince: (position) => replica.changedSince(position),
  }
}
