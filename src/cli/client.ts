import type { IRetryBackoffContext } from 'cockatiel'
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../domain/json.ts'
import { SourceError } from '../domain/source-error.ts'
import type { SourceReason } from '../domain/source-reason.ts'
import { CliError, EXIT, type ExitCode } from './exit.ts'
import type { Call, Market, Reply } from './market.ts'

/** How often a request is sent again that got no answer, or one that says to come again. */
export const MAX_RETRIES = 2
const FIRST_WAIT_MS = 250
const MAX_WAIT_MS = 5000

export type RetriedReply = Reply & { attempts: number }

/**
 * Sends a request, and the very same bytes again where the way there or the server failed: a Registry takes the
 * repetition for the same request (`protocol.md` 8, Replay).
 * @throws SourceError when no attempt was answered
 */
export const sendWithRetry = async (market: Market, call: Call): Promise<RetriedReply> => {
  const { DelegateBackoff, handleWhen, retry } = await import('cockatiel')
  const policy = retry(
    handleWhen((error) => error instanceof SourceError && PASSING.has(error.reason)).orWhenResult((reply) =>
      isPassing((reply as Reply).status),
    ),
    {
      maxAttempts: MAX_RETRIES,
      backoff: new DelegateBackoff(({ attempt, result }: IRetryBackoffContext<unknown>) =>
        waitMs(attempt, 'value' in result ? (result.value as Reply) : null),
      ),
    },
  )
  return policy.execute(async ({ attempt }) => ({ ...(await market.send(call)), attempts: attempt + 1 }))
}

const PASSING: ReadonlySet<SourceReason> = new Set([
  'timeout',
  'connection_refused',
  'connection_reset',
  'dns',
])

const isPassing = (status: number): boolean => status === 429 || status >= 500

/** As long as the server asks for, within reason; else twice as long each time. */
const waitMs = (attempt: number, reply: Reply | null): number => {
  const seconds = Number(reply?.headers['retry-after'])
  return seconds > 0 ? Math.min(seconds * 1000, MAX_WAIT_MS) : FIRST_WAIT_MS * 2 ** (attempt - 1)
}

/** The JSON of an answer; `null` where it holds none. */
export const readJson = ({ body }: Pick<Reply, 'body'>): JsonValue => {
  try {
    return parseJson(body.toString('utf8'))
  } catch {
    return null // what is no JSON says nothing here; callers report the status
  }
}

export const readObject = (reply: Pick<Reply, 'body'>): JsonObject => {
  const value = readJson(reply)
  return isJsonObject(value) ? value : {}
}

const MAX_QUOTED_CHARACTERS = 300

/** What an error answer says: its `detail`, and each of its `errors`. */
export const faultOf = (reply: Reply): string => {
  const { detail, errors } = readObject(reply)
  const listed = Array.isArray(errors) ? errors.filter(isJsonObject) : []
  const lines = listed.map(({ path, message }) => `${String(path)}: ${String(message)}`)
  const said = typeof detail === 'string' ? detail : detail === undefined ? '' : JSON.stringify(detail)
  const text = lines.length > 0 ? lines.join('; ') : said || reply.body.toString('utf8')
  return `HTTP ${reply.status}: ${text.slice(0, MAX_QUOTED_CHARACTERS)}`.trim()
}

/** Sends one request, and returns only an answer of success. @throws CliError */
export const sendOrFail = async (market: Market, call: Call): Promise<Reply> => {
  const reply = await market.send(call).catch((cause: unknown) => {
    if (!(cause instanceof SourceError)) throw cause
    throw new CliError(EXIT.noAnswer, cause.message, { cause })
  })
  if (reply.status < 300) return reply
  throw new CliError(EXIT_OF_STATUS[reply.status] ?? EXIT.failure, faultOf(reply))
}

const EXIT_OF_STATUS: Readonly<Record<number, ExitCode>> = {
  400: EXIT.badData,
  401: EXIT.notAuthorized,
  403: EXIT.notAuthorized,
  413: EXIT.badData,
  422: EXIT.badData,
}
