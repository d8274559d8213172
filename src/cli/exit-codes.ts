/** Codes from 65 up are those of sysexits.h. */
export const EXIT = {
  ok: 0,
  failure: 1,
  partial: 3,
  noAnswer: 4,
  badData: 65,
  notAuthorized: 77,
  badConfig: 78,
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
