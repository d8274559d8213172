import { isRefusal } from '../domain/source/reasons.ts'
import { SourceError } from '../domain/source/source-error.ts'
import { ConfigError, EntrepotError } from '../errors.ts'

/** Codes from 65 up are those of sysexits.h. */
export const EXIT = {
  ok: 0,
  failure: 1,
  partial: 3,
  noAnswer: 4,
  badData: 65,
  outputError: 74,
  notAuthorized: 77,
  badConfig: 78,
  interrupted: 130,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** The message is printed, so it never holds a secret. */
export class CliError extends Error {
  readonly exitCode: ExitCode

  constructor(exitCode: ExitCode, message: string, extras: { cause?: unknown } = {}) {
    super(message, extras.cause === undefined ? undefined : { cause: extras.cause })
    this.name = 'CliError'
    this.exitCode = exitCode
  }
}

export const usageError = (message: string): CliError => new CliError(EXIT.failure, message)

export function exitCodeOfError(cause: unknown): ExitCode {
  if (cause instanceof CliError) return cause.exitCode
  if (cause instanceof ConfigError) return EXIT.badConfig
  if (cause instanceof SourceError) return exitCodeOfFailedRead(isRefusal(cause.reason))
  return EXIT.failure
}

/** One line per problem. */
export function describeError(cause: unknown): string[] {
  if (cause instanceof ConfigError) return cause.problems.map(({ path, message }) => `${path}: ${message}`)
  const isExpected = [CliError, EntrepotError, SourceError].some((type) => cause instanceof type)
  const message = cause instanceof Error ? cause.message : String(cause)
  const notes = cause instanceof EntrepotError ? cause.errors.map((error) => `; ${error.message}`) : []
  return [`${isExpected ? '' : 'unexpected: '}${message}${notes.join('')}`]
}

export function describeFileError(cause: unknown): string {
  const { code, message } = cause as NodeJS.ErrnoException
  return code === 'ENOENT' ? 'no such file' : message
}

export const exitCodeOfFailedRead = (isRefused: boolean): ExitCode =>
  isRefused ? EXIT.notAuthorized : EXIT.noAnswer

/** A server error, and a rate limit, may pass: so may a Registry that does not answer. */
export function exitCodeOfStatus(status: number): ExitCode {
  if (status < 300) return EXIT.ok
  return EXIT_OF_STATUS[status] ?? (status >= 500 ? EXIT.noAnswer : EXIT.failure)
}

const EXIT_OF_STATUS: Readonly<Record<number, ExitCode>> = {
  400: EXIT.badData,
  401: EXIT.notAuthorized,
  403: EXIT.notAuthorized,
  409: EXIT.badData,
  413: EXIT.badData,
  422: EXIT.badData,
  429: EXIT.noAnswer,
}

/** The exit code of a command from those of its parts. `mixed`: all parts failed, for different reasons. */
export function combineExitCodes(codes: readonly ExitCode[], mixed: ExitCode): ExitCode {
  const failed = codes.filter((code) => code !== EXIT.ok)
  const [first = EXIT.ok] = failed
  if (failed.length > 0 && failed.length < codes.length) return EXIT.partial
  return failed.every((code) => code === first) ? first : mixed
}
