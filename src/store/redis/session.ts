import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { ReplyError } from 'ioredis'
import { EntrepotError } from '../../errors.ts'
import { SPACES, StoreUnavailable, storeClosed } from '../rows.ts'
import type { Client } from './connection.ts'

/** The braces keep all keys in one slot of a Cluster. */
export const KEY_PREFIX = '{entrepot}:'

/** Rises with each change of the keys or of what rows mean; a store of an older one is not converted. */
export const FORMAT = 3

/** In the order of `KEYS` in `commands.lua`. */
export const keysUnder = (prefix: string): string[] => [
  formatKey(prefix),
  `${prefix}log`,
  pingKey(prefix),
  `${prefix}bytes`,
  ...SPACES.flatMap((space) => [`${prefix}rows:${space}`, `${prefix}order:${space}`]),
]

export const formatKey = (prefix: string): string => `${prefix}format`
export const pingKey = (prefix: string): string => `${prefix}ping`
export const channelOf = (prefix: string): string => `${prefix}changes`

/** A connection, and a store's keys. */
export class RedisSession {
  readonly client: Client
  readonly prefix: string
  readonly #keys: readonly string[]
  readonly #inFlight = new Set<Promise<unknown>>()
  #refusal: string | null = null
  #closing: Promise<void> | undefined

  constructor(client: Client, prefix: string) {
    this.client = client
    this.prefix = prefix
    this.#keys = keysUnder(prefix)
    client.on('ready', () => {
      this.#refusal = null
    })
  }

  get closed(): boolean {
    return this.#closing !== undefined
  }

  /** Runs a command of `commands.lua`. @param spaces how many it may use: further keys take a tenth of its time */
  call(name: string, args: ScriptArguments, spaces: number = SPACES.length): Promise<unknown> {
    return this.evaluate(COMMANDS, this.#keys.slice(0, 4 + 2 * spaces), [name, ...args])
  }

  evaluate(script: Script, keys: readonly string[], args: ScriptArguments): Promise<unknown> {
    return this.run(() => evalScript(this.client, script, keys, args))
  }

  /** @throws EntrepotError `unavailable`, or `internal` where rows are gone */
  async run<T>(command: () => Promise<T>): Promise<T> {
    if (this.closed) throw storeClosed()
    const running = command()
    this.#inFlight.add(running)
    try {
      return await running
    } catch (error) {
      throw this.#failure(error)
    } finally {
      this.#inFlight.delete(running)
    }
  }

  /** The client leaves a demoted master: until it is connected again, that is why Redis does not answer. */
  #failure(error: unknown): unknown {
    const failure = redisFailure(error)
    if (!(failure instanceof StoreUnavailable)) return failure
    if (replyWord(error) === 'READONLY') this.#refusal = failure.reason
    return this.#refusal === null ? failure : new StoreUnavailable(this.#refusal, error, failure.isRefusal)
  }

  close(): Promise<void> {
    this.#closing ??= Promise.allSettled(this.#inFlight).then(() => this.client.disconnect())
    return this.#closing
  }
}

export type ScriptArguments = readonly (string | number)[]

type Script = { text: string; sha: string }

export const scriptOf = (text: string): Script => ({ text, sha: hash('sha1', text) })

const COMMANDS = scriptOf(readFileSync(new URL('./commands.lua', import.meta.url), 'utf8'))

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

/** Of `commands.lua`: keys of the store are gone, as where Redis evicts them. */
const LACKS = 'LACKS'

/** `unavailable`, unless Redis rejected the command itself, which is our fault. */
export function redisFailure(error: unknown): unknown {
  if (error instanceof EntrepotError) return error
  const word = replyWord(error)
  if (word === LACKS)
    return new EntrepotError('internal', 'Redis lacks rows: restore a backup', { cause: error })
  if (word !== null && !STATES.includes(word)) return error
  const reason = word === null ? 'Redis does not answer' : `Redis answered ${word}`
  return new StoreUnavailable(reason, error, word !== null)
}

/** Redis 6.2 wraps the error of a script's command: `ERR Error running script (…): -OOM …`. */
export const replyWord = (error: unknown): string | null =>
  error instanceof ReplyError && error instanceof Error
    ? /^(?:ERR Error running script .*: -)?(\w*)/.exec(error.message)![1]!
    : null
