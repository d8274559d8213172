import { hash } from 'node:crypto'
import type { Cluster, Redis } from 'ioredis'
import { randomId } from '../domain/random-id.ts'
import type { CacheEntry } from './lru.ts'

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
const MAX_AGE_MS = 7 * 24 * 3_600_000

/**
 * Bytes by group and key, shared by replicas; without Redis everything is a miss. Entries carry their group's generation,
 * which `drop` changes: late writes of replicas are misses.
 */
export class RedisCache {
  readonly #options: RedisCacheOptions
  readonly #generations = new Map<string, string>()
  /** Dropped while Redis was away. */
  readonly #pendingDrops = new Set<string>()
  #pausedUntil = 0

  constructor(options: RedisCacheOptions) {
    this.#options = options
  }

  async get(group: string, key: string): Promise<CacheEntry<Buffer> | null> {
    if (this.#pendingDrops.has(group)) await this.drop(group)
    const [generation, bytes] = await this.#read(group, fieldOf(key))
    if (generation === null || bytes === null || this.#pendingDrops.has(group)) return null
    const entry = decodeEntry(bytes, generation)
    return entry !== null && this.#options.now() < entry.lifetime.deleteAt ? entry : null
  }

  async set(group: string, key: string, entry: CacheEntry<Uint8Array>): Promise<void> {
    const { client, maxGroupBytes, now } = this.#options
    const generation = this.#generations.get(group) ?? (await this.#read(group, fieldOf(key)))[0]
    const end = Math.min(entry.lifetime.deleteAt, now() + MAX_AGE_MS)
    if (generation === null || end <= now()) return
    const bytes = encodeEntry(entry, generation)
    const most = maxGroupBytes()
    if (bytes.length > most) return
    const args = [fieldOf(key), bytes, now(), end, most, MAX_AGE_MS]
    await this.#run(() => client.eval(SET_AND_EVICT, 3, ...this.#keys(group), ...args))
  }

  async drop(group: string): Promise<void> {
    const generation = randomId()
    this.#generations.set(group, generation)
    this.#pendingDrops.add(group)
    const args = [GENERATION, generation, MAX_AGE_MS]
    const reply = await this.#run(() =>
      this.#options.client.eval(DROP_GROUP, 3, ...this.#keys(group), ...args),
    )
    if (reply !== null) this.#pendingDrops.delete(group)
  }

  /** Returns the release function; `null` if another replica holds the lock. Succeeds without Redis. */
  async tryLock(group: string, key: string, ms: number): Promise<(() => void) | null> {
    const { client } = this.#options
    const name = `${this.#base(group)}lock:${digest(key)}`
    const token = randomId()
    const reply = await this.#run(async () => (await client.set(name, token, 'PX', ms, 'NX')) ?? 'taken')
    if (reply === 'taken') return null
    return () => void this.#run(() => client.eval(RELEASE_LOCK, 1, name, token))
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
  return hash('sha256', key, 'base64url')
}

/** Entries of another layout version are misses. */
const FORMAT = 2
/** Format, length of the generation, and four times as doubles. */
const HEADER_BYTES = 2 + 4 * 8

function encodeEntry({ value, lifetime }: CacheEntry<Uint8Array>, generation: string): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  const word = Buffer.from(generation)
  header.writeUInt8(FORMAT, 0)
  header.writeUInt8(word.length, 1)
  const { fetchedAt, staleAt, revalidateUntil, deleteAt } = lifetime
  for (const [n, time] of [fetchedAt, staleAt, revalidateUntil, deleteAt].entries())
    header.writeDoubleLE(time, 2 + n * 8)
  return Buffer.concat([header, word, value])
}

/** `null` for another format or generation, or impossible times. */
function decodeEntry(bytes: Buffer, generation: string): CacheEntry<Buffer> | null {
  if (bytes.length < HEADER_BYTES || bytes[0] !== FORMAT) return null
  const start = HEADER_BYTES + bytes.readUInt8(1)
  if (bytes.toString('utf8', HEADER_BYTES, start) !== generation) return null
  const times = [0, 1, 2, 3].map((n) => bytes.readDoubleLE(2 + n * 8))
  const [fetchedAt = 0, staleAt = 0, revalidateUntil = 0, deleteAt = 0] = times
  if (!times.every(Number.isFinite)) return null
  return { value: copyOf(bytes.subarray(start)), lifetime: { fetchedAt, staleAt, revalidateUntil, deleteAt } }
}

/** A reply is a slice of a shared buffer, which it would keep alive. */
function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(copy)
  return copy
}

export const OVERHEAD_BYTES = 256

/**
 * Stores a field, then evicts expired fields and, beyond the budget, those that expire next. Times in ms.
 * KEYS: hash of fields, sorted set of ends, sum of bytes. ARGV: field, value, now, end, budget, life of KEYS.
 */
const SET_AND_EVICT = `
local fields, ends, bytes = KEYS[1], KEYS[2], KEYS[3]
local function size(field)
  local length = redis.call('HSTRLEN', fields, field)
  return length == 0 and 0 or length + ${OVERHEAD_BYTES}
end
local before = size(ARGV[1])
redis.call('HSET', fields, ARGV[1], ARGV[2])
redis.call('ZADD', ends, ARGV[4], ARGV[1])
local total = redis.call('INCRBY', bytes, size(ARGV[1]) - before)
while true do
  local first = redis.call('ZRANGE', ends, 0, 0, 'WITHSCORES')
  if #first == 0 or (total <= tonumber(ARGV[5]) and tonumber(first[2]) > tonumber(ARGV[3])) then break end
  total = redis.call('DECRBY', bytes, size(first[1]))
  redis.call('HDEL', fields, first[1])
  redis.call('ZREM', ends, first[1])
end
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, ARGV[6]) end
return total`

/** Empties the group under a new generation. KEYS: the same. ARGV: field, generation, life. */
const DROP_GROUP = `
redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3])
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return redis.call('PEXPIRE', KEYS[1], ARGV[3])`

/** Releases the lock only if it is ours: it may have expired and been taken by another replica. */
const RELEASE_LOCK = `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`
