import type { FeedEntry } from '../domain/feed-entry.ts'

/**
 * The log behind `GET /changes`: which listing of which source has changed, in one order for all processes on the store.
 * It has the latest entry of each key only, so no seller pushes the entries of others out. Calls reject with
 * `EntrepotError` `unavailable` if the store cannot be reached. Every implementation passes
 * `test/integration/store/contract/feed.ts`.
 */
export interface Feed {
  /**
   * Appends in order, all or nothing, and drops the entries that exceed the limits. A change is left out whose key has a
   * later entry than `known`, of the same state: another process has appended it.
   */
  append(changes: readonly NewFeedChange[], options: FeedAppend): Promise<void>
  /** At most `limit` entries behind a position, oldest first. */
  read(after: number, limit: number): Promise<FeedRead>
  /** Drops all entries, and makes every position given so far one of another log. `followed`: as in `FeedAppend`. */
  renew(followed: string | null): Promise<void>
  /** Calls back soon after an append by any process. Returns how to stop. */
  onAppend(notify: () => void): () => void
}

export type NewFeedChange = Omit<FeedEntry, 'position' | 'at'> & {
  /** Position up to which the process that appends has read the log when this changed. */
  known: number
}

export type FeedAppend = {
  /** Position of the changelog up to which the changes of the store are in the log; `null` keeps the one before. */
  followed: string | null
  /** Of all entries, with some 100 bytes for each. */
  maxBytes: number
  /** Entries that are older are dropped. */
  retentionMs: number
}

export type FeedRead = {
  /** Random; another one for another log, where all positions begin again. */
  incarnation: string
  entries: FeedEntry[]
  /** Position of the latest entry that was ever appended. */
  end: number
  /** Entries up to this position may have been dropped. */
  droppedTo: number
  /** As in the latest append; `null` before the first. */
  followed: string | null
}
