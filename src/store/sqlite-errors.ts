import { storeUnavailable } from './failures.ts'

/** https://sqlite.org/rescode.html */
export const BUSY = 5

export const primaryCode = (error: unknown): number | null =>
  error instanceof Error && 'errcode' in error && typeof error.errcode === 'number'
    ? error.errcode & 0xff
    : null

export const storeFailure = (error: unknown): unknown =>
  primaryCode(error) === null ? error : storeUnavailable(describe(error), error)

/** SQLite's text for the result code, without paths and values. */
const describe = (error: unknown): string =>
  error instanceof Error && 'errstr' in error ? String(error.errstr) : 'unknown'
