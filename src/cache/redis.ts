import { createHash, randomBytes } from 'node:crypto'
import type { Cluster, Redis } from 'ioredis'
import type { CacheEntry } from './lru.ts'
import { decodeEntry, encodeEntry } from './redis-entry.ts'
import { DROP, KEEP, RELEASE } from './redis-scripts.ts'

type RedisCacheOptions = {
  /** One that fails fast while Redis is away: readers wait for it. */
  client: Redis | Cluster
  /** Before every key, without braces. */
  prefix: string
  /** Most memory of Redis for one group, as of now: the store's Redis must not run full. */
  maxGroupBytes: () => number
  /** Milliseconds since the Unix epoch. */
  now: () => number
}

/** Pause after a failure, so that a Redis that hangs costs one wait and not many. */
export const PAUSE_MS = 1000
/** Nothing is kept for longer. */
const MAX_KEPT_MS = 7 * 24 * 3_600_000

/**
 * Bytes by group and key, shared by replicas over one Redis or Cluster; a Redis that is away is a miss. Every entry
 * carries the generation of its group, a random word that dropping the group changes: an entry that was on its way to
 * Redis then, from any replica, is not found.
 */
export class RedisCache {
  readonly #options: RedisCacheOptions
  /** Of each group, as last seen. */
  readonly #generations = new Map<string, string>()
  /** Groups that were dropped while Redis was away. */
  readonly #undropped = new Set<string>()
  #pausedUntil = 0

  constructor(options: RedisCacheOptions) {
    this.#options = options
  }

  /** The last that any replica has set; `null` where there is none. */
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

  /** Forgets the whole group, on every replica. */
  async drop(group: string): Promise<void> {
    const generation = randomWord()
    this.#generations.set(group, generation)
    this.#undropped.add(group)
    const args = [GENERATION, generation, MAX_KEPT_MS]
    const reply = await this.#run(() => this.#options.client.eval(DROP, 3, ...this.#keys(group), ...args))
    if (reply !== null) this.#undropped.delete(group)
  }

  /**
   * Locks a key for `ms` at most, so that one replica makes the value. What it returns releases the lock; `null` where
   * another replica holds it. Without Redis every replica gets it.
   */
  async tryLock(group: string, key: string, ms: number): Promise<(() => void) | null> {
    const { client } = this.#options
    const name = `${this.#base(group)}lock:${digest(key)}`
    const token = randomWord()
    const reply = await this.#run(async () => (await client.set(name, token, 'PX', ms, 'NX')) ?? 'taken')
    if (reply === 'taken') return null
    return () => void this.#run(() => client.eval(RELEASE, 1, name, token))
  }

  /** The group's generation, `null` where Redis is away, and what the field holds. */
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
    // A pause of more than its length is left over from a clock that was set back.
    const pause = this.#pausedUntil - this.#options.now()
    if (pause > 0 && pause <= PAUSE_MS) return null
    try {
      return await command()
    } catch {
      // A miss; the store reports a Redis that is away.
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
