import { storeUnavailable } from './failures.ts'

/** https://sqlite.org/rescode.html */
export const BUSY = 5

/** SQLite's primary result code; `null` for an error that is not SQLite's. */
export const primaryCode = (error: unknown): number | null =>
  error instanceof Error && 'errcode' in error && typeof error.errcode === 'number'
    ? error.errcode & 0xff
    : null

/** What a caller is told when the database refused: `unavailable` for SQLite's own errors, anything else as it is. */
export const storeFailure = (error: unknown): unknown =>
  primaryCode(error) === null ? error : storeUnavailable(describe(error), error)

/** SQLite's words for the result code ("database or disk is full"), which name no path and no value. */
const describe = (error: unknown): string =>
  error instanceof Error && 'errstr' in error ? String(error.errstr) : 'unknown'
