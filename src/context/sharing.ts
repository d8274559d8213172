import { join } from 'node:path'
import { LruCache } from '../cache/lru.ts'
import type { Config } from '../config.ts'
import type { SnapshotStorage } from '../domain/saved-snapshot.ts'
import type { UpstreamOptions } from '../domain/upstream.ts'
import type { SharedBreakerState } from '../upstream/call/circuit-breaker.ts'
import { cacheGroup } from '../upstream/reading/run-cache.ts'
import type { StoredRun } from '../upstream/reading/stored-run.ts'
import type { SnapshotPuller } from '../upstream/snapshot/puller.ts'
import { snapshotFile } from '../upstream/snapshot/snapshot-file.ts'
import type { Foundation } from './foundation.ts'
import { MemoryBudget } from './memory-budget.ts'
import type { Opened } from './shared-parts.ts'

export type Sharing = {
  runs: LruCache<StoredRun>
  memory: MemoryBudget
  of: (upstream: UpstreamOptions) => SharedState
  /** By upstream and credential: a new configuration takes over what they hold. */
  snapshots: Map<string, SnapshotPuller[]>
  configure: (config: Config) => void
}

type SharedState = {
  sharedRuns: import('../cache/redis.ts').RedisCache | null
  sharedBreaker: SharedBreakerState | null
  /** Beside the database file or in Redis; `null`: not saved. */
  storage: SnapshotStorage | null
}

const PREFIX = 'entrepot:'

export async function openSharing(config: Config, foundation: Foundation): Promise<Opened<Sharing>> {
  const { now } = foundation.clock
  const { maxBytes } = config.cache
  const runs = new LruCache<StoredRun>({ maxBytes, sizeOf: ({ retainedBytes }) => retainedBytes, now })
  const memory = new MemoryBudget(runs, maxBytes, config.upstreams.length)
  const redis = foundation.redisUrl === null ? null : await openRedis(foundation.redisUrl, memory, now)
  const sharing: Sharing = {
    runs,
    memory,
    snapshots: new Map(),
    configure: ({ cache, upstreams }) => memory.configure(cache.maxBytes, upstreams.length),
    of: (upstream) => {
      const group = cacheGroup(upstream)
      const file = foundation.snapshotFolder && join(foundation.snapshotFolder, `${upstream.name}.json`)
      return {
        sharedRuns: memory.maxSharedBytes === 0 ? null : (redis?.runs ?? null),
        sharedBreaker: redis?.breakerOf(group) ?? null,
        storage: file === null ? (redis?.storageOf(upstream.name, group) ?? null) : snapshotFile(file, group),
      }
    },
  }
  return { value: sharing, close: () => redis?.close() }
}

async function openRedis(url: string, memory: MemoryBudget, now: () => number) {
  const [{ RedisCache }, { redisBreakerState }, { redisSnapshot }, connection] = await Promise.all([
    import('../cache/redis.ts'),
    import('../cache/redis-breaker-state.ts'),
    import('../cache/redis-snapshot.ts'),
    import('../store/redis/connection.ts'),
  ])
  const client = connection.counterClient(url)
  const snapshots = connection.commandClient(url)
  // Without these clients nothing is shared; the store is connected by now, and its log has the reason.
  await Promise.all([client, snapshots].map((one) => connection.connected(one).catch(() => {})))
  const maxBytes = () => memory.maxSharedBytes
  return {
    runs: new RedisCache({ client, prefix: `${PREFIX}runs:`, maxGroupBytes: maxBytes, now }),
    breakerOf: (group: string) => redisBreakerState({ client, key: `${PREFIX}open:${group}`, now }),
    storageOf: (name: string, identity: string) =>
      redisSnapshot({ client: snapshots, key: `${PREFIX}snapshot:${name}`, identity, maxBytes }),
    close: () => {
      client.disconnect()
      snapshots.disconnect()
    },
  }
}
