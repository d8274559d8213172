import { join } from 'node:path'
import pLimit from 'p-limit'
import { LruCache } from '../cache/lru.ts'
import type { Config } from '../config/config.ts'
import type { Clock } from '../domain/clock.ts'
import type { SnapshotStorage } from '../domain/source/saved-snapshot.ts'
import type { UpstreamOptions } from '../domain/source/upstream.ts'
import type { Run } from '../upstream/reading/run.ts'
import { cacheGroup } from '../upstream/reading/run-cache.ts'
import { snapshotFile } from '../upstream/snapshot/snapshot-file.ts'
import { type UpstreamParts, UpstreamState } from '../upstream/upstream.ts'

/** What was learnt of each upstream, by its name, URL and credential. Every runtime continues with it. */
type UpstreamCaches = {
  /** While two runtimes overlap, the larger limits apply. */
  prepare: (config: CacheConfig) => void
  partsOf: (upstream: UpstreamOptions) => CachedParts
  /** Applies these limits, and drops what was learnt of other upstreams. */
  activate: (config: CacheConfig) => void
  close: () => void
}

type CacheConfig = Pick<Config, 'cache' | 'upstreams'>

type CachedParts = Pick<UpstreamParts, 'state' | 'runs' | 'sharedBreaker'> & {
  snapshots: Omit<UpstreamParts['snapshots'], 'filters'>
}

type CachesOptions = {
  /** `null`: nothing is shared with other processes. */
  redisUrl: string | null
  /** `null`: snapshots are not saved in files. */
  snapshotFolder: string | null
  clock: Clock
}

const PREFIX = 'entrepot:'

export async function openUpstreamCaches(options: CachesOptions): Promise<UpstreamCaches> {
  const { redisUrl, snapshotFolder, clock } = options
  const runs = new LruCache<Run>({
    maxBytes: 0,
    sizeOf: ({ retainedBytes }) => retainedBytes,
    now: clock.monotonic,
  })
  const budget = new MemoryBudget(runs)
  const redis = redisUrl === null ? null : await openRedis(redisUrl, budget, clock)
  const states = new Map<string, UpstreamState>()
  /** One limit for the process: a pull has the next snapshot in memory beside the current one. */
  const inTurn = pLimit(MAX_PULLS)

  const storageOf = (upstream: UpstreamOptions): SnapshotStorage | null =>
    snapshotFolder === null
      ? null
      : snapshotFile(join(snapshotFolder, `${upstream.name}.json`), cacheGroup(upstream))

  return {
    prepare: (config) => budget.raiseTo(config),
    partsOf: (upstream) => {
      const key = keyOf(upstream)
      const state = states.get(key) ?? new UpstreamState()
      states.set(key, state)
      return {
        state,
        runs,
        sharedBreaker: redis?.breakerOf(cacheGroup(upstream)) ?? null,
        snapshots: {
          storage: storageOf(upstream),
          shared: redis?.pullsOf(cacheGroup(upstream)) ?? null,
          maxBytes: () => budget.maxSnapshotBytes(state, upstream),
          inTurn,
          onResize: (bytes) => {
            if (states.get(key) === state) budget.setSnapshotBytes(state, bytes, upstream)
          },
        },
      }
    },
    activate: (config) => {
      const keys = new Set(config.upstreams.map(keyOf))
      for (const [key, state] of states) {
        if (keys.has(key)) continue
        states.delete(key)
        budget.dropSnapshot(state)
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

async function openRedis(url: string, budget: MemoryBudget, { now, monotonic }: Clock) {
  const [{ redisBreakerState }, { redisPulls }, connection] = await Promise.all([
    import('../cache/redis-breaker-state.ts'),
    import('../cache/redis-pulls.ts'),
    import('../store/redis/connection.ts'),
  ])
  const client = connection.counterClient(url)
  const snapshots = connection.commandClient(url)
  // Without these clients nothing is shared; the store is connected by now, and its log has the reason.
  await Promise.all([client, snapshots].map((one) => connection.connected(one).catch(() => {})))
  const maxBytes = () => budget.maxSharedBytes
  return {
    breakerOf: (group: string) => redisBreakerState({ client, key: `${PREFIX}open:${group}`, now }),
    pullsOf: (group: string) =>
      redisPulls({
        client: snapshots,
        key: `${PREFIX}pulled:${group}`,
        identity: group,
        maxBytes,
        // The times of a pull are those of ages.
        now: monotonic,
      }),
    close: () => {
      client.disconnect()
      snapshots.disconnect()
    },
  }
}

/** Whole pulls at once. */
const MAX_PULLS = 2
/** Least share of `cache.max_bytes` for the runs, whatever the snapshots take. */
const MIN_RUNS_SHARE = 0.25
/** Most of `cache.max_bytes` for one snapshot. */
const MAX_SNAPSHOT_SHARE = 0.25
/** Resizes the cache when the snapshots' memory has changed by this share. */
const RESIZE_STEP = 0.05

type Priority = Pick<UpstreamOptions, 'priority'>

/** Divides `cache.max_bytes` between the snapshots, those of better sources first, and the cache of runs. */
class MemoryBudget {
  readonly #runs: LruCache<Run>
  readonly #snapshots = new Map<UpstreamState, Priority & { bytes: number }>()
  #maxBytes = 0
  #reserved = 0
  /** Of one upstream, in Redis. */
  maxSharedBytes = 0

  constructor(runs: LruCache<Run>) {
    this.#runs = runs
  }

  setTo(config: CacheConfig): void {
    this.#maxBytes = config.cache.maxBytes
    this.maxSharedBytes = sharedBytes(config)
    this.#resize(true)
  }

  raiseTo(config: CacheConfig): void {
    this.maxSharedBytes = Math.max(this.maxSharedBytes, sharedBytes(config))
    if (config.cache.maxBytes <= this.#maxBytes) return
    this.#maxBytes = config.cache.maxBytes
    this.#resize(true)
  }

  /** The memory that sources of its priority and better ones leave. Worse sources get less at their next pull. */
  maxSnapshotBytes(upstream: UpstreamState, { priority }: Priority): number {
    let left = this.#maxBytes * (1 - MIN_RUNS_SHARE)
    for (const [other, held] of this.#snapshots)
      if (other !== upstream && held.priority <= priority) left -= held.bytes
    return Math.max(0, Math.floor(Math.min(left, this.#maxBytes * MAX_SNAPSHOT_SHARE)))
  }

  setSnapshotBytes(upstream: UpstreamState, bytes: number, { priority }: Priority): void {
    if (bytes === 0) this.#snapshots.delete(upstream)
    else this.#snapshots.set(upstream, { priority, bytes })
    this.#resize(false)
  }

  dropSnapshot(upstream: UpstreamState): void {
    this.#snapshots.delete(upstream)
    this.#resize(false)
  }

  #resize(isForced: boolean): void {
    const total = this.#snapshots.values().reduce((sum, { bytes }) => sum + bytes, 0)
    if (!isForced && Math.abs(total - this.#reserved) < this.#maxBytes * RESIZE_STEP) return
    this.#reserved = total
    this.#runs.resize(Math.max(this.#maxBytes * MIN_RUNS_SHARE, this.#maxBytes - total))
  }
}

/** Of one upstream, in bytes: the store shares this Redis. */
function sharedBytes({ cache, upstreams }: CacheConfig): number {
  return Math.floor(cache.maxBytes / Math.max(1, upstreams.length))
}
