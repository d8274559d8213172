import { join } from 'node:path'
import type { Config } from './config.ts'
import type { Clock } from './domain/clock.ts'
import type { UpstreamOptions } from './domain/upstream.ts'
import type { Filter, FilterSpec } from './filter-spec/filter.ts'
import { requireSchema } from './gateway/plan.ts'
import { createSnapshotSource, type SnapshotSource } from './gateway/snapshot-source.ts'
import { createUpstreamSource, type UpstreamSource } from './gateway/upstream-source.ts'
import type { Logger } from './log.ts'
import { openSharing, type Sharing } from './sharing-context.ts'
import { createAgent } from './upstream/agent.ts'
import { fetchInTurn } from './upstream/fetch-in-turn.ts'
import { type FetchListings, fetchListings } from './upstream/fetch-listings.ts'
import { fetchFilterSpec } from './upstream/filter-spec.ts'
import { getFrom } from './upstream/get.ts'
import { PublisherBook } from './upstream/publisher-book.ts'
import { fetchPublishers } from './upstream/publishers.ts'
import { pullListings } from './upstream/pull-listings.ts'
import { readListings } from './upstream/read-listings.ts'
import { type SnapshotKeeping, snapshotFile } from './upstream/snapshot-file.ts'
import { SpecKeeper } from './upstream/spec-keeper.ts'
import { withPublishers } from './upstream/with-publishers.ts'

export type UpstreamsOptions = {
  config: Config
  spec: FilterSpec
  /** The Redis that replicas share; `null` where there is none. */
  redisUrl: string | null
  clock: Clock
  random: () => number
  log: Logger
  /** Told of everything that has to be let go. */
  onClose: (close: () => unknown) => void
}

export type Upstreams = {
  /** In the order of the configuration. */
  upstreams: readonly UpstreamSource[]
  /** Whether every one that is to be pulled was tried once. */
  areTried: () => boolean
}

/** Composition of everything that stands behind the gateway. */
export const openUpstreams = async (options: UpstreamsOptions): Promise<Upstreams> => {
  const sharingOf = await openSharing(options)
  const parts = options.config.upstreams.map((upstream) => openLive(upstream, sharingOf(upstream), options))
  const specs = parts.map(({ live }) => live.spec)
  const filters = (): readonly Filter[] => [
    ...options.spec.filters.values(),
    ...specs.flatMap(({ spec }) => [...(spec()?.filters.values() ?? [])]),
  ]
  const snapshots: SnapshotSource[] = []
  const upstreams = await Promise.all(
    parts.map(async ({ upstream, live, pull }) => {
      if (upstream.mode === 'live') return live
      const snapshot = await openSnapshot(upstream, { live, pull, filters }, options)
      snapshots.push(snapshot)
      return snapshot
    }),
  )
  return { upstreams, areTried: () => snapshots.every((snapshot) => snapshot.wasTried()) }
}

type Live = { upstream: UpstreamOptions; live: UpstreamSource; pull: Pulling }
type Pulling = Parameters<typeof createSnapshotSource>[0]['pull']

const openLive = (upstream: UpstreamOptions, { cache, notice }: Sharing, options: UpstreamsOptions): Live => {
  const { config, clock, random, onClose } = options
  const { schema, budgetMs } = config.gateway
  const agent = createAgent(upstream)
  // Readers have been answered by then: what is left is fetched for nobody.
  onClose(() => agent.destroy())
  const get = getFrom(upstream, agent, [config.gateway.id])
  const vocabulary = new SpecKeeper(fetchFilterSpec(get), clock)
  const book = new PublisherBook(fetchPublishers(get), clock)
  // A gateway's publishers are only its own; of the others its items tell.
  const attributed = (fetch: FetchListings): FetchListings =>
    upstream.kind === 'gateway' ? fetch : withPublishers(book, fetch)
  const live = createUpstreamSource({
    upstream,
    fetch: fetchInTurn(upstream, fetchListings(upstream, agent)),
    read: (fetch) => readListings(upstream, attributed(fetch)),
    vocabulary,
    schema,
    cache,
    notice,
    policy: config.cache,
    budgetMs,
    clock,
    random,
  })
  const pull: Pulling = async (signal) => {
    requireSchema(upstream.name, await vocabulary.known(), schema)
    return pullListings(upstream, attributed(live.fetch), signal)
  }
  if (upstream.mode === 'live') onClose(() => live.close())
  return { upstream, live, pull }
}

const openSnapshot = async (
  upstream: UpstreamOptions,
  parts: Pick<Live, 'live' | 'pull'> & { filters: () => readonly Filter[] },
  { config, clock, random, log, onClose }: UpstreamsOptions,
): Promise<SnapshotSource> => {
  const { schema } = config.gateway
  const keeping = keepingFor(upstream, config.storeUrl)
  const source = await createSnapshotSource({ ...parts, upstream, schema, keeping, clock, random, log })
  onClose(() => source.close())
  return source
}

/** Beside the database; nowhere where there is no file. */
const keepingFor = ({ name, url }: UpstreamOptions, storeUrl: string): SnapshotKeeping | null => {
  const path = /^sqlite:(?!:memory:)(.+)$/.exec(storeUrl)?.[1]
  return path === undefined ? null : snapshotFile(join(`${path}-snapshots`, `${name}.json`), url)
}
