import { randomUUID } from 'node:crypto'
import { redactCredentials } from '../../domain/safe-text.ts'
import { ConfigError, EntrepotError } from '../../errors.ts'
import { type CopyTarget, HELD } from '../copy.ts'
import { type Rows, SPACES, type Space } from '../rows.ts'
import { connected, loadClient } from './connection.ts'
import { redisOpenFailure } from './open.ts'
import { KEY_PREFIX, keysUnder, RedisSession, scriptOf } from './session.ts'
import { RedisRows } from './store.ts'

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
  readonly rows: Rows
  readonly #url: string
  readonly #prefix: string
  readonly #id = randomUUID()
  readonly #session: RedisSession

  constructor(url: string, prefix: string) {
    this.#url = url
    this.#prefix = prefix
    this.#session = new RedisSession(loadClient(url), stagedUnder(prefix, this.#id))
    this.rows = new RedisRows(url, this.#session)
  }

  async open(): Promise<void> {
    const { client } = this.#session
    await connected(client)
    const keys = keysUnder(this.#prefix)
    const counts = await Promise.all(HELD.map((space) => client.hlen(keys[rowsOf(space)]!)))
    if (counts.some((count) => count > 0)) throw this.#occupied()
    const other = await client.getset(latestOf(this.#prefix), this.#id)
    if (other !== null) await client.unlink(...keysUnder(stagedUnder(this.#prefix, other)))
  }

  async seal(): Promise<Rows> {
    return this.rows
  }

  async publish(): Promise<void> {
    const keys = [
      latestOf(this.#prefix),
      ...keysUnder(this.#prefix),
      ...keysUnder(stagedUnder(this.#prefix, this.#id)),
    ]
    const answer = await this.#session.evaluate(ADOPT, keys, [this.#id, ...HELD.map(rowsOf)])
    if (answer === 'replaced')
      throw new EntrepotError(
        'unavailable',
        'another restore into this Redis began meanwhile; this one was deleted',
      )
    if (answer !== 'adopted') throw this.#occupied()
  }

  /** What it cannot delete, the next restore does. */
  async close(): Promise<void> {
    await this.#session.client.unlink(...keysUnder(stagedUnder(this.#prefix, this.#id))).catch(() => {})
    await this.rows.close()
  }

  #occupied(): ConfigError {
    const where = redactCredentials(this.#url)
    const message =
      `Redis at ${where} holds a store: stop the service and point STORE_URL at another Redis, ` +
      `or delete its keys there: redis-cli --scan --pattern '${this.#prefix}*' | xargs redis-cli unlink`
    return new ConfigError([{ path: 'STORE_URL', message }])
  }
}

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
