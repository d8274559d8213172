import { hash, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { type ChainableCommander, type Cluster, type Redis, ReplyError } from 'ioredis'
import {
  readMissingEntries,
  readSnapshot,
  renderSnapshot,
  type SharedPull,
  type SharedPulls,
  type SnapshotFacts,
} from '../domain/source/saved-snapshot.ts'
import { parseObject } from '../json/value.ts'

const MAX_AGE_MS = 7 * 24 * 3600 * 1000
/** Bounds the turn of a replica that stops without ending it. */
export const TURN_MS = 60_000
/** Bound on decompressed text, against decompression bombs. */
const MAX_TEXT_BYTES = 2 ** 30

type RedisPullsOptions = {
  client: Redis | Cluster
  key: string
  /** Of upstream and credential. */
  identity: string
  /** The store shares this Redis, which must not run full. */
  maxBytes: () => number
  now: () => number
}

/**
 * The latest whole pull in one Redis hash, its listings compressed and replaced only when they change. Times are saved as
 * how long ago they were, and the life that the key has left adds to that: clocks of replicas may differ.
 */
export function redisPulls({ client, key, identity, maxBytes, now }: RedisPullsOptions): SharedPulls {
  const turnKey = `${key}:turn`
  const token = randomToken()

  return {
    latest: async () => {
      const [about, lifeMs] = await runAtOnce(client.multi().hget(key, 'about').pttl(key))
      if (typeof about !== 'string' || typeof lifeMs !== 'number' || lifeMs < 0) return null
      const pull = readAbout(about)
      return { ...pull, ...shift(pull, now() - (MAX_AGE_MS - lifeMs)) }
    },
    listings: async (expectedHash) => {
      const bytes = await client.hgetBuffer(key, 'listings')
      if (bytes === null) return null
      const text = await unpack(bytes, { maxOutputLength: MAX_TEXT_BYTES })
      return hashOf(text) === expectedHash ? (readSnapshot(text, identity)?.listings ?? null) : null
    },
    share: async ({ listings, ...about }) => {
      const text = renderSnapshot({ takenAt: 0, listings }, identity)
      const named = { id: randomToken(), hash: hashOf(text) }
      const pull: SharedPull = { ...about, ...shift(about, -now()), ...named }
      const fields: Record<string, string | Buffer> = { about: JSON.stringify(pull), hash: named.hash }
      if ((await client.hget(key, 'hash')) !== named.hash) fields.listings = await packWithin(text)
      await runAtOnce(client.multi().hset(key, fields).pexpire(key, MAX_AGE_MS))
      return named
    },
    isAway: (error) => !REPLIES.some((kind) => error instanceof kind),
    takeTurn: async () => (await client.set(turnKey, token, 'PX', TURN_MS, 'NX')) === 'OK',
    endTurn: async () => {
      // Another replica may have the turn by now; at worst, two pull at once.
      if ((await client.get(turnKey)) === token) await client.del(turnKey)
    },
  }

  async function packWithin(text: Buffer): Promise<Buffer> {
    const bytes = await pack(text)
    if (bytes.length > maxBytes())
      throw new RangeError(`it takes ${bytes.length} bytes of Redis, more than its share of cache.max_bytes`)
    return bytes
  }
}

/** Errors of Redis that answers, or of what it holds. */
const REPLIES = [ReplyError, SyntaxError, RangeError, TypeError]

async function runAtOnce(commands: ChainableCommander): Promise<unknown[]> {
  const answers = (await commands.exec()) ?? []
  return answers.map(([error, answer]) => {
    if (error !== null) throw error
    return answer
  })
}

/** @throws SyntaxError */
function readAbout(text: string): SharedPull {
  const about = parseObject(text)
  if (typeof about.id !== 'string' || typeof about.takenAt !== 'number' || !about.totals)
    throw new SyntaxError('not a pull')
  const { missing, ...rest } = about as unknown as SharedPull & { missing?: never }
  return missing === undefined ? rest : { ...rest, missing: readMissingEntries(missing) }
}

function shift({ takenAt, missing }: SnapshotFacts, byMs: number): SnapshotFacts {
  const shifted = missing?.map((entry) =>
    entry.heardAt === undefined ? entry : { ...entry, heardAt: entry.heardAt + byMs },
  )
  return { takenAt: takenAt + byMs, ...(shifted && { missing: shifted }) }
}

function randomToken(): string {
  return randomBytes(12).toString('base64url')
}

function hashOf(text: Buffer): string {
  return hash('sha256', text, 'base64url')
}

const pack = promisify<Buffer, Buffer>(gzip)
const unpack = promisify<Buffer, { maxOutputLength: number }, Buffer>(gunzip)
