import { randomUUID } from 'node:crypto'
import type { ChainableCommander } from 'ioredis'
import { plural } from '../../domain/plural.ts'
import { redactCredentials } from '../../domain/safe-text.ts'
import type { Micros } from '../../domain/timestamp.ts'
import { ConfigError, EntrepotError } from '../../errors.ts'
import type { CopySource, CopyTarget } from '../copy.ts'
import { kindOf } from '../records.ts'
import { type Row, SPACES, type Space } from '../rows.ts'
import { connected, loadClient } from './connection.ts'
import { openRedisStore, redisOpenFailure } from './open.ts'
import { FORMAT, KEY_PREFIX, keysUnder, RedisSession, redisFailure, scriptOf } from './session.ts'
import { textOf } from './store.ts'

/** @throws ConfigError if there is a store already, and as `openRedisStore` does */
export async function createRedisCopy(url: string, prefix: string = KEY_PREFIX): Promise<CopyTarget> {
  const copy = new RedisCopy(url, prefix)
  try {
    await copy.open()
    return copy
  } catch (error) {
    await copy.close()
    throw redisOpenFailure(error, redactCredentials(url))
  }
}

/** Is written to keys of its own, in the hash slot of the store's. One that is not finished is deleted by the next. */
class RedisCopy implements CopyTarget {
  readonly #url: string
  readonly #prefix: string
  readonly #id = randomUUID()
  readonly #session: RedisSession
  readonly #staged: readonly string[]
  /** Counted here: in Redis that would take a second write for each row. */
  readonly #bytes = new Map<Space, number>()
  readonly #sizes = new Map<string, number>()

  constructor(url: string, prefix: string) {
    this.#url = url
    this.#prefix = prefix
    this.#session = new RedisSession(loadClient(url), prefix)
    this.#staged = keysUnder(stagedUnder(prefix, this.#id))
  }

  async open(): Promise<void> {
    const { client } = this.#session
    await connected(client)
    const [registry, listings] = HELD.map((space) => keysUnder(this.#prefix)[rowsOf(space)]!)
    const kinds = (await client.hkeys(registry!)).map((key) => kindOf({ key }))
    const countOf = (kind: string) => kinds.filter((one) => one === kind).length
    const counts = {
      listing: await client.hlen(listings!),
      publisher: countOf('publisher'),
      'API key': countOf('key'),
      block: countOf('block'),
    }
    if (Object.values(counts).some((count) => count > 0))
      throw this.#occupied(
        Object.entries(counts)
          .map(([noun, count]) => plural(count, noun))
          .join(', '),
      )
    const other = await client.getset(latestOf(this.#prefix), this.#id)
    if (other !== null) await client.unlink(...keysUnder(stagedUnder(this.#prefix, other)))
  }

  put(rows: readonly Row[]): Promise<void> {
    return this.#pipeline((pipeline) => {
      for (const row of rows) {
        const text = textOf(row)
        this.#count(row, Buffer.byteLength(row.key) + Buffer.byteLength(text))
        pipeline
          .hset(this.#staged[rowsOf(row.space)]!, row.key, text)
          .zadd(this.#staged[rowsOf(row.space) + 1]!, row.at, row.key)
      }
    })
  }

  remove(space: Space, key: string): Promise<void> {
    this.#count({ space, key }, 0)
    return this.#pipeline((pipeline) => {
      pipeline.hdel(this.#staged[rowsOf(space)]!, key).zrem(this.#staged[rowsOf(space) + 1]!, key)
    })
  }

  async seal(end: Micros): Promise<CopySource> {
    const [format, log, , bytes] = this.#staged
    await this.#pipeline((pipeline) => {
      pipeline.set(format!, FORMAT)
      if (end > 0) pipeline.xadd(log!, `${end}-0`, 'first', end)
      for (const [space, count] of this.#bytes) pipeline.hset(bytes!, SPACES.indexOf(space) + 1, count)
    })
    const { store } = await openRedisStore(this.#url, { prefix: stagedUnder(this.#prefix, this.#id) })
    return store.rows
  }

  async publish(): Promise<void> {
    const keys = [latestOf(this.#prefix), ...keysUnder(this.#prefix), ...this.#staged]
    const answer = await this.#session.evaluate(ADOPT, keys, [this.#id, ...HELD.map(rowsOf)])
    if (answer === 'replaced')
      throw new EntrepotError(
        'unavailable',
        'another restore into this Redis began meanwhile; this one was deleted',
      )
    if (answer !== 'adopted') throw this.#occupied('what was written meanwhile')
  }

  /** What it cannot delete, the next restore does. */
  async close(): Promise<void> {
    await this.#session.client.unlink(...this.#staged).catch(() => {})
    await this.#session.close()
  }

  async #pipeline(fill: (pipeline: ChainableCommander) => void): Promise<void> {
    const pipeline = this.#session.client.pipeline()
    fill(pipeline)
    const answers = await this.#session.run(() => pipeline.exec())
    for (const [error] of answers ?? []) if (error !== null) throw redisFailure(error)
  }

  #count({ space, key }: Pick<Row, 'space' | 'key'>, bytes: number): void {
    const name = `${space}/${key}`
    const before = this.#sizes.get(name) ?? 0
    this.#sizes.set(name, bytes)
    this.#bytes.set(space, (this.#bytes.get(space) ?? 0) + bytes - before)
  }

  #occupied(content: string): ConfigError {
    const where = redactCredentials(this.#url)
    const message =
      `Redis at ${where} holds ${content}: stop the service and point STORE_URL at another Redis, ` +
      `or delete its keys there: redis-cli --scan --pattern '${this.#prefix}*' | xargs redis-cli unlink`
    return new ConfigError([{ path: 'STORE_URL', message }])
  }
}

/** Spaces whose rows are not replaced. */
const HELD = ['registry', 'listings'] as const

/** Of the rows of a space, among `keysUnder`. */
const rowsOf = (space: Space): number => 4 + 2 * SPACES.indexOf(space)

const stagedUnder = (prefix: string, id: string): string => `${prefix}restore:${id}:`

/** Of the id of the copy that began last: only that one is published. */
const latestOf = (prefix: string): string => `${prefix}restore`

/**
 * Renames the staged keys, which are the last, to the store's. Answers `adopted`; `replaced` if a copy began after this one, whose id
 * is in the first key; `occupied` if the store has rows.
 */
const ADOPT = scriptOf(`
local count = (#KEYS - 1) / 2
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 'replaced'
end
for n = 2, #ARGV do
  if redis.call('EXISTS', KEYS[2 + ARGV[n]]) == 1 then
    return 'occupied'
  end
end
redis.call('DEL', KEYS[1])
for n = 2, count + 1 do
  redis.call('DEL', KEYS[n])
  if redis.call('EXISTS', KEYS[n + count]) == 1 then
    redis.call('RENAME', KEYS[n + count], KEYS[n])
  end
end
return 'adopted'`)
