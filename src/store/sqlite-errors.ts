import { EntrepotError } from '../errors.ts'

/** https://sqlite.org/rescode.html */
export const BUSY = 5

/** SQLite's primary result code; `null` for an error that is not SQLite's. */
export const primaryCode = (error: unknown): number | null =>
  error instanceof Error && 'errcode' in error && typeof error.errcode === 'number'
    ? error.errcode & 0xff
    : null

/** What a caller is told when the database refused: `unavailable` for SQLite's own errors, anything else as it is. */
export const storeFailure = (error: unknown): unknown =>
  primaryCode(error) === null
    ? error
    : new EntrepotError(
        'unavailable',
        `The store cannot be used right now (${describe(error)}). Nothing was acknowledged; try again later.`,
        { cause: error, headers: { 'Retry-After': '5' } },
      )

export const storeClosed = (): EntrepotError =>
  new EntrepotError('unavailable', 'The store is closed: this process is stopping. Try again later.', {
    headers: { 'Retry-After': '5' },
  })

/** SQLite's words for the result code ("database or disk is full"), which name no path and no value. */
const describe = (error: unknown): string =>
  error instanceof Error && 'errstr' in error ? String(error.errstr) : 'unknown'
