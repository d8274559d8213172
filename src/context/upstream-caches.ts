import { join } from 'node:path'
import { LruCache } from '../cache/lru.ts'
import type { Config } from '../config/config.ts'
import type { Clock } from '../domain/clock.ts'
import type { SnapshotStorage } from '../domain/source/saved-snapshot.ts'
import type { UpstreamOptions } from '../domain/source/upstream.ts'
import { cacheGroup } from '../upstream/reading/run-cache.ts'
import type { StoredRun } from '../upstream/reading/stored-run.ts'
import { snapshotFile } from '../upstream/snapshot/snapshot-file.ts'
import { type UpstreamParts, UpstreamState } from '../upstream/upstream.ts'

/** What was learnt of each upstream, by its name, URL and credential. Every runtime continues with it. */
type UpstreamCaches = {
  /** While two runtimes overlap, the larger limits apply. */
  prepare: (config: CacheConfig) => void
  partsOf: (upstream: UpstreamOptions, config: CacheConfig) => CachedParts
  /** Applies these limits, and drops what was learnt of other upstreams. */
  activate: (config: CacheConfig) => void
  close: () => void
}

type CacheConfig = Pick<Config, 'cache' | 'upstreams'>

type CachedParts = Pick<UpstreamParts, 'state' | 'runs' | 'sharedRuns' | 'sharedBreaker'> & {
  snapshots: Omit<UpstreamParts['snapshots'], 'filters'>
}

type CachesOptions = {
  /** `null`: nothing is shared with other processes. */
  redisUrl: string | null
  /** `null`: snapshots are saved in Redis, or not at all. */
  snapshotFolder: string | null
  clock: Clock
}

const PREFIX = 'entrepot:'

export async function openUpstreamCaches(options: CachesOptions): Promise<UpstreamCaches> {
  const { redisUrl, snapshotFolder, clock } = options
  const runs = new LruCache<StoredRun>({
    maxBytes: 0,
    sizeOf: ({ retainedBytes }) => retainedBytes,
    now: clock.now,
  })
  const budget = new MemoryBudget(runs)
  const redis = redisUrl === null ? null : await openRedis(redisUrl, budget, clock.now)
  const known = new Map<string, UpstreamState>()

  const storageOf = (upstream: UpstreamOptions): SnapshotStorage | null => {
    const group = cacheGroup(upstream)
    if (snapshotFolder === null) return redis?.storageOf(upstream.name, group) ?? null
    return snapshotFile(join(snapshotFolder, `${upstream.name}.json`), group)
  }

  return {
    prepare: (config) => budget.raiseTo(config),
    partsOf: (upstream, config) => {
      const key = keyOf(upstream)
      const state = known.get(key) ?? new UpstreamState()
      known.set(key, state)
      return {
        state,
        runs,
        sharedRuns: config.cache.maxBytes === 0 ? null : (redis?.runs ?? null),
        sharedBreaker: redis?.breakerOf(cacheGroup(upstream)) ?? null,
        snapshots: {
          storage: storageOf(upstream),
          maxBytes: () => maxSnapshotBytes(config),
          onResize: (bytes) => {
            if (known.get(key) === state) budget.setSnapshotBytes(state, bytes)
          },
        },
      }
    },
    activate: (config) => {
      const wanted = new Set(config.upstreams.map(keyOf))
      for (const [key, state] of known) {
        if (wanted.has(key)) continue
        known.delete(key)
        budget.setSnapshotBytes(state, 0)
      }
      runs.retain(new Set(config.upstreams.map(cacheGroup)))
      budget.setTo(config)
    },
    close: () => redis?.close(),
  }
}

/** A live upstream has no use for a snapshot. */
const keyOf = (upstream: UpstreamOptions): string =>
  [upstream.name, cacheGroup(upstream), upstream.mode].join(' ')

async function openRedis(url: string, budget: MemoryBudget, now: () => number) {
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
  const maxBytes = () => budget.maxSharedBytes
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

/** Least share of `cache.max_bytes` for the runs, whatever the snapshots take. */
const MIN_RUNS_SHARE = 0.25
/** Share for the text of a snapshot: during a pull, the next one is held beside it. */
const SNAPSHOT_TEXT_SHARE = 0.5
/** Resizes the cache when the snapshots' memory has changed by this share. */
const RESIZE_STEP = 0.05

/** Of one upstream, in bytes. */
const shareOf = ({ cache, upstreams }: CacheConfig): number =>
  Math.floor(cache.maxBytes / Math.max(1, upstreams.length))

/** Of the text of one upstream's snapshot. */
function maxSnapshotBytes(config: CacheConfig): number {
  return Math.floor(shareOf(config) * SNAPSHOT_TEXT_SHARE)
}

/** Divides `cache.max_bytes` between the snapshots and the cache of runs. */
class MemoryBudget {
  readonly #runs: LruCache<StoredRun>
  readonly #snapshotBytes = new Map<UpstreamState, number>()
  #maxBytes = 0
  #reserved = 0
  /** Of one upstream, in Redis. */
  maxSharedBytes = 0

  constructor(runs: LruCache<StoredRun>) {
    this.#runs = runs
  }

  setTo(config: CacheConfig): void {
    this.#maxBytes = config.cache.maxBytes
    this.maxSharedBytes = shareOf(config)
    this.#resize(true)
  }

  raiseTo(config: CacheConfig): void {
    this.maxSharedBytes = Math.max(this.maxSharedBytes, shareOf(config))
    if (config.cache.maxBytes <= this.#maxBytes) return
    this.#maxBytes = config.cache.maxBytes
    this.#resize(true)
  }

  setSnapshotBytes(upstream: UpstreamState, bytes: number): void {
    if (bytes === 0) this.#snapshotBytes.delete(upstream)
    else this.#snapshotBytes.set(upstream, bytes)
    this.#resize(false)
  }

  #resize(isForced: boolean): void {
    const total = this.#snapshotBytes.values().reduce((sum, bytes) => sum + bytes, 0)
    if (!isForced && Math.abs(total - this.#reserved) < this.#maxBytes * RESIZE_STEP) return
    this.#reserved = total
    this.#runs.resize(Math.max(this.#maxBytes * MIN_RUNS_SHARE, this.#maxBytes - total))
  }
}
