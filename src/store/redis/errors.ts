import { ReplyError } from 'ioredis'
import { ConfigError, EntrepotError } from '../../errors.ts'
import { storeUnavailable } from '../store.ts'

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

/** `unavailable`, unless Redis rejected the command itself, which is our fault. */
export function redisFailure(error: unknown): unknown {
  if (error instanceof EntrepotError) return error
  const word = replyWord(error)
  if (word !== null && !STATES.includes(word)) return error
  return storeUnavailable(word === null ? 'Redis does not answer' : `Redis says ${word}`, error)
}

/** For the operator. `where` holds no password. */
export function redisOpenFailure(failure: unknown, where: string): unknown {
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

const lastNodeError = (error: unknown): unknown =>
  error instanceof Error && 'lastNodeError' in error ? (error.lastNodeError ?? error) : error

/** Redis 6.2 wraps the error of a script's command: `ERR Error running script (…): -OOM …`. */
const replyWord = (error: unknown): string | null =>
  error instanceof ReplyError && error instanceof Error
    ? (/^ERR Error running script .*: -(\w+)/.exec(error.message)?.[1] ??
      error.message.split(' ', 1)[0] ??
      '')
    : null
