import { randomBytes } from 'node:crypto'
import type { Cluster, Redis } from 'ioredis'
import type { Cache, Kept } from './cache.ts'
import { type Codec, decodeEntry, encodeEntry } from './redis-entry.ts'
import { DROP, GIVE_BACK, KEEP } from './redis-scripts.ts'

export type RedisCacheOptions<Value> = {
  /** One that fails soon when Redis is away: readers wait for it. */
  client: Redis | Cluster
  /** Before every key, without braces. */
  prefix: string
  /** Most memory of Redis that one group may take up, as of now: it is the store's Redis, which must not run full. */
  maxGroupBytes: () => number
  codec: Codec<Value>
  /** Milliseconds since the Unix epoch. */
  now: () => number
}

/** After a failure Redis is left alone for this long, so that one that hangs costs one wait and not many. */
export const REST_MS = 1000
/** What nobody uses is gone after this time. Nothing is kept for longer. */
export const MAX_KEPT_MS = 7 * 24 * 3_600_000

/**
 * Shared by replicas over one Redis or Cluster. Every entry is marked with the generation of its group, a random word
 * that dropping the group changes: what was on its way to it then, from any replica, is not found.
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
    const { codec, now } = this.#options
    if (this.#undropped.has(group)) await this.drop(group)
    const [generation, bytes] = await this.#read(group, fieldOf(key))
    if (generation === null || bytes === null || this.#undropped.has(group)) return null
    const kept = decodeEntry(bytes, generation, codec)
    return kept !== null && now() < kept.lifetime.deleteAt ? kept : null
  }

  async set(group: string, key: string, kept: Kept<Value>): Promise<void> {
    const { client, codec, maxGroupBytes, now } = this.#options
    const generation = this.#generations.get(group) ?? (await this.#read(group, fieldOf(key)))[0]
    const end = Math.min(kept.lifetime.deleteAt, now() + MAX_KEPT_MS)
    if (generation === null || end <= now()) return
    const bytes = encodeEntry(kept, generation, codec)
    const most = maxGroupBytes()
    if (bytes.length > most) return
    const given = [fieldOf(key), bytes, now(), end, most, MAX_KEPT_MS]
    await this.#run(() => client.eval(KEEP, 3, ...this.#keys(group), ...given))
  }

  async drop(group: string): Promise<void> {
    const generation = randomWord()
    this.#generations.set(group, generation)
    this.#undropped.add(group)
    const given = [GENERATION, generation, MAX_KEPT_MS]
    const reply = await this.#run(() => this.#options.client.eval(DROP, 3, ...this.#keys(group), ...given))
    if (reply !== null) this.#undropped.delete(group)
  }

  async claim(group: string, key: string, ms: number): Promise<(() => void) | null> {
    const { client } = this.#options
    const name = `${this.#base(group)}claim:${key}`
    const token = randomWord()
    const reply = await this.#run(async () => (await client.set(name, token, 'PX', ms, 'NX')) ?? 'taken')
    if (reply === 'taken') return null
    return () => void this.#run(() => client.eval(GIVE_BACK, 1, name, token))
  }

  /** It is Redis's memory, not ours. */
  bytes(): number {
    return 0
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

const GENERATION = 'generation'
const fieldOf = (key: string): string => `value:${key}`
const randomWord = (): string => randomBytes(12).toString('base64url')
