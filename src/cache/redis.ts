import { createHash, randomBytes } from 'node:crypto'
import type { Cluster, Redis } from 'ioredis'
import type { CacheEntry } from './lru.ts'
import { decodeEntry, encodeEntry } from './redis-entry.ts'
import { DROP, KEEP, RELEASE } from './redis-scripts.ts'

type RedisCacheOptions = {
  /** Must fail fast while Redis is away: readers wait for it. */
  client: Redis | Cluster
  /** Without braces. */
  prefix: string
  /** Of one group. The store shares this Redis, which must not run full. */
  maxGroupBytes: () => number
  now: () => number
}

/** Pause after a failure: a Redis that hangs costs one wait, not many. */
export const PAUSE_MS = 1000
const MAX_KEPT_MS = 7 * 24 * 3_600_000

/**
 * Bytes by group and key, shared by replicas; without Redis everything is a miss. Entries carry their group's generation,
 * which `drop` changes: late writes of replicas are misses.
 */
export class RedisCache {
  readonly #options: RedisCacheOptions
  readonly #generations = new Map<string, string>()
  /** Dropped while Redis was away. */
  readonly #undropped = new Set<string>()
  #pausedUntil = 0

  constructor(options: RedisCacheOptions) {
    this.#options = options
  }

  async get(group: string, key: string): Promise<CacheEntry<Buffer> | null> {
    if (this.#undropped.has(group)) await this.drop(group)
    const [generation, bytes] = await this.#read(group, fieldOf(key))
    if (generation === null || bytes === null || this.#undropped.has(group)) return null
    const entry = decodeEntry(bytes, generation)
    return entry !== null && this.#options.now() < entry.lifetime.deleteAt ? entry : null
  }

  async set(group: string, key: string, entry: CacheEntry<Uint8Array>): Promise<void> {
    const { client, maxGroupBytes, now } = this.#options
    const generation = this.#generations.get(group) ?? (await this.#read(group, fieldOf(key)))[0]
    const end = Math.min(entry.lifetime.deleteAt, now() + MAX_KEPT_MS)
    if (generation === null || end <= now()) return
    const bytes = encodeEntry(entry, generation)
    const most = maxGroupBytes()
    if (bytes.length > most) return
    const args = [fieldOf(key), bytes, now(), end, most, MAX_KEPT_MS]
    await this.#run(() => client.eval(KEEP, 3, ...this.#keys(group), ...args))
  }

  async drop(group: string): Promise<void> {
    const generation = randomWord()
    this.#generations.set(group, generation)
    this.#undropped.add(group)
    const args = [GENERATION, generation, MAX_KEPT_MS]
    const reply = await this.#run(() => this.#options.client.eval(DROP, 3, ...this.#keys(group), ...args))
    if (reply !== null) this.#undropped.delete(group)
  }

  /** Returns the release function; `null` if another replica holds the lock. Succeeds without Redis. */
  async tryLock(group: string, key: string, ms: number): Promise<(() => void) | null> {
    const { client } = this.#options
    const name = `${this.#base(group)}lock:${digest(key)}`
    const token = randomWord()
    const reply = await this.#run(async () => (await client.set(name, token, 'PX', ms, 'NX')) ?? 'taken')
    if (reply === 'taken') return null
    return () => void this.#run(() => client.eval(RELEASE, 1, name, token))
  }

  async #read(group: string, field: string): Promise<[generation: string | null, bytes: Buffer | null]> {
    const [fields] = this.#keys(group)
    const reply = await this.#run(() => this.#options.client.hmgetBuffer(fields, GENERATION, field))
    if (reply === null) return [null, null]
    const generation = reply[0]?.toString() ?? ''
    this.#generations.set(group, generation)
    return [generation, reply[1] ?? null]
  }

  #keys(group: string): [fields: string, ends: string, bytes: string] {
    const base = this.#base(group)
    return [`${base}fields`, `${base}ends`, `${base}bytes`]
  }

  /** The braces keep a group in one slot of a Cluster. */
  #base(group: string): string {
    return `${this.#options.prefix}{${Buffer.from(group).toString('base64url')}}:`
  }

  async #run<T>(command: () => Promise<T>): Promise<T | null> {
    // A longer pause is left over from a clock that was set back.
    const pause = this.#pausedUntil - this.#options.now()
    if (pause > 0 && pause <= PAUSE_MS) return null
    try {
      return await command()
    } catch {
      // A miss; the store reports that Redis is away.
      this.#pausedUntil = this.#options.now() + PAUSE_MS
      return null
    }
  }
}

const GENERATION = 'generation'

function fieldOf(key: string): string {
  return `value:${digest(key)}`
}

function digest(key: string): string {
  return createHash('sha256').update(key).digest('base64url')
}

function randomWord(): string {
  return randomBytes(12).toString('base64url')
}
