import type { Micros } from '../domain/timestamp.ts'
import { EntrepotError } from '../errors.ts'

/**
 * What stores keep: `registry` has publishers, API keys and blocks; `removed` the ids of listings that are gone; `facts` what the
 * rules count and look up; `logs` what is known of the log of changes. No row of the last three is part of a backup.
 */
export const SPACES = [
  'registry',
  'listings',
  'facts',
  'guard',
  'audit',
  'audit-sellers',
  'removed',
  'feed',
  'logs',
  'uses',
] as const
export type Space = (typeof SPACES)[number]
export const EVERY_SPACE: ReadonlySet<Space> = new Set(SPACES)

/** `at` is the row's version, its place in the order of all changes, and the time of its latest change. */
export type Row = { space: Space; key: string; value: string; createdAt: Micros; at: Micros }

/** `null`: the row goes. */
export type Put = Omit<Row, 'value'> & { value: string | null }

export type Place = `${Space}/${string}`

export const placeOf = (space: Space, key: string): Place => `${space}/${key}`

export function readPlace(place: Place): { space: Space; key: string } {
  const slash = place.indexOf('/')
  return { space: place.slice(0, slash) as Space, key: place.slice(slash + 1) }
}

/**
 * Rows in spaces, which know nothing of the market. Calls reject with `StoreUnavailable` if the rows cannot be reached.
 * `test/integration/store/contract.ts` tests every implementation.
 */
export interface Rows {
  /** All of one moment. @param isForCommit it may be an earlier one, of the last second: then the commit is a conflict */
  get(places: readonly Place[], isForCommit?: boolean): Promise<Moment>
  /**
   * All or nothing, and durable when it resolves. Times of puts are later than `end`; no two rows of a space have one time.
   * @returns what `get` would answer for these places, where the latest commit is not that of `end`: then nothing was done
   */
  commit(end: Micros, puts: readonly Put[], places?: readonly Place[]): Promise<Moment | null>
  /**
   * Of each space the rows that changed after a time, oldest first; `null`: the newest ones.
   * @param isBulk one of many calls that read everything
   */
  after(spaces: readonly Space[], at: Micros | null, limit: number, isBulk?: boolean): Promise<RowsRead>
  /** Calls back soon after a commit by any process, with the spaces that may have changed. Returns how to stop. */
  onChange(notify: (spaces: ReadonlySet<Space>) => void): () => void
  /** Rejects if the rows cannot be read and written. */
  ping(): Promise<void>
  close(): Promise<void>
}

/** `end` is the time of the latest commit, `now` a later one by the clock of the rows. `isEarlier`: from memory. */
export type Moment = { rows: (Row | null)[]; now: Micros; end: Micros; isEarlier?: boolean }

export type RowsRead = {
  /** In the order of time, those of one time in the order of the spaces: of each space at most `limit`, and less where they are large. */
  rows: Row[]
  /** Whether there are more. Then all rows up to that of the last one are here. */
  hasMore: boolean
  /** Time of the latest commit. */
  end: Micros
  /** Whether the time is 0 or that of a commit, which this history of rows still has. */
  isKnown: boolean
  /** Of all rows of each space. `newest`: the time of the newest one; 0 without any. */
  sizes: { rows: number; bytes: number; newest: Micros }[]
}

/** What of each space was read, as one: without the rows behind the end of a space that has more. */
export function inOrder(
  read: readonly { rows: Row[]; hasMore: boolean }[],
): Pick<RowsRead, 'rows' | 'hasMore'> {
  if (read.length === 1) return read[0]!
  const ends = read.flatMap(({ rows, hasMore }) => (hasMore ? [rows.at(-1)!.at] : []))
  const end = Math.min(...ends)
  const rows = read.flatMap((one) => one.rows).filter(({ at }) => at <= end)
  rows.sort((one, other) => one.at - other.at)
  return { rows, hasMore: ends.length > 0 }
}

/** Seconds; `Retry-After` (RFC 9110 section 10.2.3). */
const RETRY_AFTER = '5'

/** The replay guard makes it safe to send the same request again. */
export class StoreUnavailable extends EntrepotError {
  /** A few words without paths and values. */
  readonly reason: string
  /** The store has answered that nothing was done. */
  readonly isRefusal: boolean

  constructor(reason: string, cause?: unknown, isRefusal = false) {
    const detail =
      `The store cannot be used right now (${reason}). Nothing was acknowledged; the very same request may be sent ` +
      'again later.'
    super('unavailable', detail, { cause, headers: { 'Retry-After': RETRY_AFTER } })
    this.reason = reason
    this.isRefusal = isRefusal
  }
}

export const storeClosed = (): StoreUnavailable => new StoreUnavailable('this process is stopping')
