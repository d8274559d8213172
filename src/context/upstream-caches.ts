import { hash } from 'node:crypto'
import { join } from 'node:path'
import pLimit, { type LimitFunction } from 'p-limit'
import type { Config } from '../config/config.ts'
import type { Clock } from '../domain/clock.ts'
import type { SnapshotStorage } from '../domain/source/saved-snapshot.ts'
import type { UpstreamOptions } from '../domain/source/upstream.ts'
import type { CopyIndex } from '../listing-index/copy-index.ts'
import type { PullTurn } from '../upstream/snapshot/puller.ts'
import { snapshotFile } from '../upstream/snapshot/snapshot-file.ts'
import { type UpstreamParts, UpstreamState } from '../upstream/upstream.ts'

type CacheConfig = Pick<Config, 'cache' | 'upstreams'>

type CachedParts = Pick<UpstreamParts, 'state' | 'sharedBreaker'> & {
  snapshots: Omit<UpstreamParts['snapshots'], 'filters'>
  /** Once the runtime reads them no more. */
  release: () => void
}

type CachesOptions = {
  index: CopyIndex
  /** `null`: nothing is shared with other processes. */
  redisUrl: string | null
  /** `null`: snapshots are not saved in files. */
  snapshotFolder: string | null
  clock: Clock
}

const PREFIX = 'entrepot:'

/** What was learnt of each upstream, by its name, URL and credential. Every runtime continues with it. */
export async function openUpstreamCaches({ index, redisUrl, snapshotFolder, clock }: CachesOptions) {
  const budget = new MemoryBudget()
  const redis = redisUrl === null ? null : await openRedis(redisUrl, budget, clock)
  const states = new Map<string, UpstreamState>()
  /** Runtimes that read what is held. */
  const users = new WeakMap<UpstreamState, number>()
  const turns: Readonly<Record<PullTurn, LimitFunction>> = {
    'first page': pLimit(MAX_FIRST_PAGES),
    first: pLimit(MAX_FIRST_PULLS),
    later: pLimit(MAX_PULLS),
  }

  const storageOf = (upstream: UpstreamOptions): SnapshotStorage | null =>
    snapshotFolder === null
      ? null
      : snapshotFile(join(snapshotFolder, `${upstream.name}.json`), cacheGroup(upstream))

  return {
    /** While two runtimes overlap, the larger limits apply. */
    prepare: (config: CacheConfig): void => budget.raiseTo(config),
    partsOf: (upstream: UpstreamOptions): CachedParts => {
      const key = keyOf(upstream)
      const state = states.get(key) ?? new UpstreamState()
      states.set(key, state)
      users.set(state, (users.get(state) ?? 0) + 1)
      return {
        state,
        release: () => {
          const left = users.get(state)! - 1
          users.set(state, left)
          if (left === 0 && states.get(key) !== state) void state.snapshot.drop()
        },
        sharedBreaker: redis?.breakerOf(cacheGroup(upstream)) ?? null,
        snapshots: {
          index,
          storage: storageOf(upstream),
          shared: redis?.pullsOf(cacheGroup(upstream)) ?? null,
          maxBytes: () => budget.maxSnapshotBytes(state, upstream),
          inTurn: (work, turn) => turns[turn](work),
          onResize: (bytes) => {
            if (states.get(key) === state) budget.held.set(state, { priority: upstream.priority, bytes })
          },
        },
      }
    },
    /** Applies these limits, and forgets other upstreams: their rows go with the last runtime that reads them. */
    activate: (config: CacheConfig): void => {
      const keys = new Set(config.upstreams.map(keyOf))
      for (const [key, state] of states) {
        if (keys.has(key)) continue
        states.delete(key)
        budget.held.delete(state)
      }
      budget.setTo(config)
    },
    close: (): void => redis?.close(),
  }
}

/**
 * Listings that one credential is shown, or one key has signed, must not be served to another, or after their address was forbidden.
 * What other rules have kept is another part of the source.
 */
export function cacheGroup({ url, kind, key, pin, only, allowPrivateAddresses }: UpstreamOptions): string {
  const identity = [url, kind, key ?? '', allowPrivateAddresses, pin ?? [], only?.key ?? []].flat()
  return hash('sha256', JSON.stringify(identity), 'base64url')
}

const keyOf = (upstream: UpstreamOptions): string => `${upstream.name} ${cacheGroup(upstream)}`

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

/** First pages at once: what a thousand sources send at once is not read within their time limits. */
const MAX_FIRST_PAGES = 16
/** First pulls at once, of which nothing is held yet. */
const MAX_FIRST_PULLS = 8
/** Later ones, which have the next listings in memory beside those that are held. */
const MAX_PULLS = 2
/** Most of `cache.max_bytes` for one upstream: a pull takes as much again. */
const MAX_SHARE = 0.5

type Priority = Pick<UpstreamOptions, 'priority'>

/** Divides `cache.max_bytes` between the upstreams, the better ones first. */
class MemoryBudget {
  readonly held = new Map<UpstreamState, Priority & { bytes: number }>()
  #maxBytes = 0
  /** Of one upstream, in Redis. */
  maxSharedBytes = 0

  setTo(config: CacheConfig): void {
    this.#maxBytes = config.cache.maxBytes
    this.maxSharedBytes = sharedBytes(config)
  }

  raiseTo(config: CacheConfig): void {
    this.maxSharedBytes = Math.max(this.maxSharedBytes, sharedBytes(config))
    this.#maxBytes = Math.max(this.#maxBytes, config.cache.maxBytes)
  }

  /** The memory that sources of its priority and better ones leave. Worse sources get less at their next pull. */
  maxSnapshotBytes(upstream: UpstreamState, { priority }: Priority): number {
    let left = this.#maxBytes
    for (const [other, held] of this.held)
      if (other !== upstream && held.priority <= priority) left -= held.bytes
    return Math.max(0, Math.floor(Math.min(left, this.#maxBytes * MAX_SHARE)))
  }
}

/** Of one upstream, in bytes: the store shares this Redis. */
function sharedBytes({ cache, upstreams }: CacheConfig): number {
  return Math.floor(cache.maxBytes / Math.max(1, upstreams.length))
}
