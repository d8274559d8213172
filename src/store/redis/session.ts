import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { ReplyError } from 'ioredis'
import { EntrepotError } from '../../errors.ts'
import { StoreUnavailable, storeClosed } from '../store.ts'
import type { Client } from './connection.ts'

/** The braces keep all keys in one slot of a Cluster. */
export const KEY_PREFIX = '{entrepot}:'

/** Version of the layout of keys. */
export const FORMAT = 1

/** In the order of `KEYS` in `commands.lua`. */
export const keysUnder = (prefix: string) => ({
  format: `${prefix}format`,
  /** Hash: id → row. */
  publishers: `${prefix}publishers`,
  /** Hash: scheme and identifier → id. */
  publisherIds: `${prefix}publisher-ids`,
  /** Hash: listing id → row. */
  listings: `${prefix}listings`,
  /** Sorted set: listing id by time of creation. */
  created: `${prefix}created`,
  /** Hash: publisher id → number of listings. */
  listingCounts: `${prefix}listing-counts`,
  /** Hash: id → row. */
  apiKeys: `${prefix}api-keys`,
  /** Stream of changes; an entry's id starts with the time of its mutation. */
  log: `${prefix}log`,
  ping: `${prefix}ping`,
  /** Sorted set: signature by expiry. */
  useExpiry: `${prefix}use-expiry`,
  /** Decimal number: latest expiry of a spent signature that was dropped. */
  forgottenUse: `${prefix}forgotten-use`,
  /** Sorted set: signature by expiry, of those that have expired. */
  spent: `${prefix}spent-signatures`,
  /** Hash: scheme and identifier of a replaced identity → id of its publisher, and until when it is active. */
  replacedIdentities: `${prefix}replaced-identities`,
  /** Hash: id → row. */
  blocks: `${prefix}blocks`,
  /** Stream: acts of operators. This and the next are those of `audit.lua`. */
  audit: `${prefix}audit`,
  /** Stream: writes of sellers. */
  sellerAudit: `${prefix}audit-sellers`,
})

/** In the order of `KEYS` in `feed.lua`. */
const feedKeysUnder = (prefix: string) => ({
  /** Stream: what has changed. */
  log: `${prefix}feed`,
  /** Hash: source and key → the latest entry. */
  latest: `${prefix}feed-latest`,
  meta: `${prefix}feed-log`,
})

/** A connection, and a store's keys. */
export class RedisSession {
  readonly client: Client
  readonly prefix: string
  readonly keys: ReturnType<typeof keysUnder>
  readonly feedKeys: ReturnType<typeof feedKeysUnder>
  readonly changelogLength: number
  readonly #inFlight = new Set<Promise<unknown>>()
  #closing: Promise<void> | undefined

  constructor(client: Client, prefix: string, changelogLength: number) {
    this.client = client
    this.prefix = prefix
    this.keys = keysUnder(prefix)
    this.feedKeys = feedKeysUnder(prefix)
    this.changelogLength = changelogLength
  }

  get closed(): boolean {
    return this.#closing !== undefined
  }

  /**
   * Hash: operation and listing id → body and answer; `url` → URL of its first publish; `first` → its time and API key.
   * Of a write of the signed line: `request` → its hash, `lease`, `receipt` of its mutation, `answer`.
   */
  useKey(signature: string): string {
    return `${this.prefix}use:${signature}`
  }

  /** Runs a command of `commands.lua`. `keys` follow the store's, in the same hash slot. */
  call(name: string, args: ScriptArguments, keys: readonly string[] = []): Promise<unknown> {
    const all = [...Object.values(this.keys), ...keys]
    return this.evaluate(COMMANDS, all, [name, this.changelogLength, ...args])
  }

  evaluate(script: Script, keys: readonly string[], args: ScriptArguments): Promise<unknown> {
    return this.run(() => evalScript(this.client, script, keys, args))
  }

  /** @throws EntrepotError `unavailable` */
  async run<T>(command: () => Promise<T>): Promise<T> {
    if (this.closed) throw storeClosed()
    const running = command()
    this.#inFlight.add(running)
    try {
      return await running
    } catch (error) {
      throw redisFailure(error)
    } finally {
      this.#inFlight.delete(running)
    }
  }

  close(): Promise<void> {
    this.#closing ??= Promise.allSettled(this.#inFlight).then(() => this.client.disconnect())
    return this.#closing
  }
}

export type ScriptArguments = readonly (string | number)[]

export type Script = { text: string; sha: string }

export function readScript(name: string): Script {
  const text = readFileSync(new URL(`./${name}`, import.meta.url), 'utf8')
  return { text, sha: hash('sha1', text) }
}

const COMMANDS = readScript('commands.lua')

async function evalScript(
  client: Client,
  { text, sha }: Script,
  keys: readonly string[],
  args: ScriptArguments,
): Promise<unknown> {
  try {
    return await client.evalsha(sha, keys.length, ...keys, ...args)
  } catch (error) {
    // Unknown after a restart, on another node, or after SCRIPT FLUSH.
    if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error
    return client.eval(text, keys.length, ...keys, ...args)
  }
}

/** First words of replies that blame the server's state, not the command (https://redis.io/docs, "Error replies"). */
const STATES = [
  'READONLY',
  'OOM',
  'MISCONF',
  'LOADING',
  'BUSY',
  'CLUSTERDOWN',
  'TRYAGAIN',
  'MASTERDOWN',
  'NOREPLICAS',
  'NOAUTH',
  'NOPERM',
]

/** `unavailable`, unless Redis rejected the command itself, which is our fault. */
export function redisFailure(error: unknown): unknown {
  if (error instanceof EntrepotError) return error
  const word = replyWord(error)
  if (word !== null && !STATES.includes(word)) return error
  return new StoreUnavailable(word === null ? 'Redis does not answer' : `Redis answered ${word}`, error)
}

/** Redis 6.2 wraps the error of a script's command: `ERR Error running script (…): -OOM …`. */
export const replyWord = (error: unknown): string | null =>
  error instanceof ReplyError && error instanceof Error
    ? /^(?:ERR Error running script .*: -)?(\w*)/.exec(error.message)![1]!
    : null
