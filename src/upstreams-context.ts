import { join } from 'node:path'
import type { Config } from './config.ts'
import type { Clock } from './domain/clock.ts'
import type { SnapshotKeeping } from './domain/saved-snapshot.ts'
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
import { snapshotFile } from './upstream/snapshot-file.ts'
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
  const keepingOf = await openKeeping(options)
  const snapshots: SnapshotSource[] = []
  const upstreams = await Promise.all(
    parts.map(async ({ upstream, live, pull }) => {
      if (upstream.mode === 'live') return live
      const keeping = keepingOf(upstream)
      const snapshot = await openSnapshot(upstream, { live, pull, filters, keeping }, options)
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
  parts: Pick<Live, 'live' | 'pull'> & { filters: () => readonly Filter[]; keeping: SnapshotKeeping | null },
  { config, clock, random, log, onClose }: UpstreamsOptions,
): Promise<SnapshotSource> => {
  const { schema } = config.gateway
  const source = await createSnapshotSource({ ...parts, upstream, schema, clock, random, log })
  onClose(() => source.close())
  return source
}

/** Snapshots are saved with the store: beside the database, or in the Redis that replicas share. */
const openKeeping = async ({
  config,
  redisUrl,
  onClose,
}: UpstreamsOptions): Promise<(upstream: UpstreamOptions) => SnapshotKeeping | null> => {
  const { upstreams, storeUrl, cache } = config
  const database = /^sqlite:(?!:memory:)(.+)$/.exec(storeUrl)?.[1]
  if (database !== undefined)
    return ({ name, url }) => snapshotFile(join(`${database}-snapshots`, `${name}.json`), url)
  if (redisUrl === null || !upstreams.some(({ mode }) => mode === 'snapshot')) return () => null
  const [{ redisSnapshot }, { commandClient, connected }] = await Promise.all([
    import('./cache/redis-snapshot.ts'),
    import('./store/redis-connection.ts'),
  ])
  const client = commandClient(redisUrl)
  onClose(() => client.disconnect())
  // The store is there by now; where this connection is not, nothing is saved, and the log tells.
  await connected(client).catch(() => {})
  const maxBytes = Math.floor(cache.maxBytes / upstreams.length)
  return ({ name, url }) => redisSnapshot({ client, key: `entrepot:snapshot:${name}`, url, maxBytes })
}
