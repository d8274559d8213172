import { randomBytes } from 'node:crypto'
import type { Cluster, Redis } from 'ioredis'
import type { Cache, Kept } from './cache.ts'
import { type Codec, decodeEntry, encodeEntry } from './redis-entry.ts'

export type RedisCacheOptions<Value> = {
  /** One that fails soon when Redis is away: readers wait for it. */
  client: Redis | Cluster
  /** Before every key, without braces. */
  prefix: string
  codec: Codec<Value>
  /** Milliseconds since the Unix epoch. */
  now: () => number
}

/** After a failure Redis is left alone for this long, so that one that hangs costs one wait and not many. */
export const REST_MS = 1000
/** Nothing is kept for longer, so that nothing outlives the record of its group's dropping. */
export const MAX_KEPT_MS = 7 * 24 * 3_600_000

/**
 * Shared by replicas over one Redis or Cluster. Every entry is marked with the generation of its group, a random word
 * that dropping the group changes: what any replica kept before that is of another generation.
 */
export class RedisCache<Value> implements Cache<Value> {
  readonly #options: RedisCacheOptions<Value>
  /** Of each group, as last seen. */
  readonly #generations = new Map<string, string>()
  /** Groups that were dropped while Redis was away, and have to be dropped there yet. */
  readonly #undropped = new Set<string>()
  #restUntil = 0

  constructor(options: RedisCacheOptions<Value>) {
    this.#options = options
  }

  get(group: string, key: string): Promise<Kept<Value> | null> {
    return this.lookUp(group, key)
  }

  async lookUp(group: string, key: string): Promise<Kept<Value> | null> {
    const { client, codec, now } = this.#options
    if (this.#undropped.has(group)) await this.drop(group)
    const keys = [this.#key(group, `page:${key}`), this.#key(group, 'generation')]
    const reply = await this.#run(() => client.mgetBuffer(keys))
    if (reply === null || this.#undropped.has(group)) return null
    const [bytes, word] = reply
    const generation = word?.toString() ?? ''
    this.#generations.set(group, generation)
    const kept = bytes ? decodeEntry(bytes, generation, codec) : null
    return kept !== null && now() < kept.lifetime.deleteAt ? kept : null
  }

  async set(group: string, key: string, kept: Kept<Value>): Promise<void> {
    const { client, codec, now } = this.#options
    const generation = this.#generations.get(group) ?? (await this.#learnGeneration(group))
    const ms = Math.min(Math.ceil(kept.lifetime.deleteAt - now()), MAX_KEPT_MS)
    if (generation === null || ms <= 0) return
    const bytes = encodeEntry(kept, generation, codec)
    await this.#run(() => client.set(this.#key(group, `page:${key}`), bytes, 'PX', ms))
  }

  async #learnGeneration(group: string): Promise<string | null> {
    const reply = await this.#run(() => this.#options.client.mget(this.#key(group, 'generation')))
    if (reply === null) return null
    this.#generations.set(group, reply[0] ?? '')
    return reply[0] ?? ''
  }

  async drop(group: string): Promise<void> {
    const generation = randomBytes(12).toString('base64url')
    this.#generations.set(group, generation)
    const name = this.#key(group, 'generation')
    this.#undropped.add(group)
    const reply = await this.#run(() => this.#options.client.set(name, generation, 'PX', MAX_KEPT_MS))
    if (reply !== null) this.#undropped.delete(group)
  }

  async claim(group: string, key: string, ms: number): Promise<(() => void) | null> {
    const { client } = this.#options
    const name = this.#key(group, `claim:${key}`)
    const token = randomBytes(12).toString('base64url')
    let hasFailed = true
    const answer = await this.#run(async () => {
      const reply = await client.set(name, token, 'PX', ms, 'NX')
      hasFailed = false
      return reply
    })
    if (answer === null && !hasFailed) return null
    return () => void this.#run(() => client.eval(GIVE_BACK, 1, name, token))
  }

  /** It is Redis's memory, not ours. */
  bytes(): number {
    return 0
  }

  /** The braces keep a group in one slot of a Cluster. */
  #key(group: string, name: string): string {
    return `${this.#options.prefix}{${Buffer.from(group).toString('base64url')}}:${name}`
  }

  async #run<T>(command: () => Promise<T>): Promise<T | null> {
    const { now } = this.#options
    if (now() < this.#restUntil) return null
    try {
      return await command()
    } catch {
      // A Redis that is away has nothing; the store says so to whoever has to know.
      this.#restUntil = now() + REST_MS
      return null
    }
  }
}

/** Only what is still ours: it may have run out, and be another's by now. */
const GIVE_BACK = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`
