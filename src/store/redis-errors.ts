import { ReplyError } from 'ioredis'
import { ConfigError, EntrepotError } from '../errors.ts'
import { storeUnavailable } from './failures.ts'

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
const REFUSALS = ['WRONGPASS', 'NOAUTH', 'NOPERM']

/**
 * What a caller is told when Redis did not do it: `unavailable`, unless Redis understood the command and found it
 * wrong, which is a fault of ours.
 */
export const storeFailure = (error: unknown): unknown => {
  if (error instanceof EntrepotError) return error
  const word = replyWord(error)
  if (word !== null && !STATES.includes(word)) return error
  return storeUnavailable(word === null ? 'Redis does not answer' : `Redis says ${word}`, error)
}

/** What the operator is told when the store cannot be opened. `where` holds no password. */
export const openFailure = (failure: unknown, where: string): unknown => {
  if (failure instanceof ConfigError) return failure
  const error = lastNodeError(failure)
  const word = replyWord(error)
  if (word !== null && REFUSALS.includes(word)) {
    const message = `Redis at ${where} refused us (${word}): check the user and the password in STORE_URL`
    return new ConfigError([{ path: 'STORE_URL', message }])
  }
  const reason = error instanceof Error ? error.message : String(error)
  const message = `Redis at ${where} cannot be used (${reason}): start it, or correct STORE_URL`
  return new EntrepotError('unavailable', message, { cause: error })
}

/** A Cluster tells what went wrong at the node that it tried last. */
const lastNodeError = (error: unknown): unknown =>
  error instanceof Error && 'lastNodeError' in error ? (error.lastNodeError ?? error) : error

/** Redis 6.2 puts what a command in a script answered behind its own words: `ERR Error running script (…): -OOM …`. */
const replyWord = (error: unknown): string | null =>
  error instanceof ReplyError && error instanceof Error
    ? (/^ERR Error running script .*: -(\w+)/.exec(error.message)?.[1] ??
      error.message.split(' ', 1)[0] ??
      '')
    : null
