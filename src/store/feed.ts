import type { FeedEntry } from '../domain/feed-entry.ts'
import { randomId } from '../domain/random-id.ts'
import { dropped, type Parts, trim } from './logs.ts'
import { placeOf, type Row } from './rows.ts'
import type { Draft } from './writer.ts'

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

/** Rows of the space `logs`: what the log is, up to where it has the changes of the store, and what was dropped. */
const FEED = 'feed'
const FOLLOWED = 'feed followed'
const DROPPED = 'feed dropped'

/** Between source and key of an entry. */
const SEPARATOR = '\u001f'

/**
 * The log behind `GET /changes`: which listing of which source has changed, in one order for all processes on the store.
 * It has the latest entry of each key only, so no seller pushes the entries of others out. Calls reject with `StoreUnavailable` if the
 * store cannot be reached.
 */
export class Feed {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /**
   * Appends in order, all or nothing, and drops the entries that exceed the limits. A change is left out whose key has a
   * later entry than `known`, of the same state: another process has appended it.
   */
  async append(
    changes: readonly NewFeedChange[],
    { followed, maxBytes, retentionMs }: FeedAppend,
  ): Promise<void> {
    const now = await this.#parts.writer.run(
      (draft) => {
        if (draft.get('logs', FEED) === null) begin(draft)
        for (const change of changes) appendChange(draft, change)
        if (followed !== null) draft.put('logs', FOLLOWED, followed)
        return draft.tick()
      },
      [
        ...[FEED, FOLLOWED].map((key) => placeOf('logs', key)),
        ...changes.map((change) => placeOf('feed', keyOf(change))),
      ],
    )
    const oldest = now - retentionMs * 1000
    const exceeds = (row: Row, { bytes }: { bytes: number }) => bytes > maxBytes || row.at < oldest
    await trim(this.#parts, 'feed', exceeds, dropped('logs', DROPPED))
  }

  /** At most `limit` entries behind a position, oldest first. */
  async read(after: number, limit: number): Promise<FeedRead> {
    const places = [FEED, FOLLOWED, DROPPED].map((key) => placeOf('logs', key))
    // The log is read later than its entries, so that one that was dropped meanwhile is known to be.
    const [{ rows, sizes }, about] = await Promise.all([
      this.#parts.rows.after(['feed'], after, limit),
      this.#parts.rows.get(places),
    ])
    const [log, followed, dropped] = about.rows
    if (!log) {
      await this.#open()
      return this.read(after, limit)
    }
    const { newest } = sizes[0]!
    const droppedTo = dropped && dropped.at > log.at ? Number(dropped.value) : 0
    return {
      incarnation: log.value,
      entries: rows.filter(({ at }) => at > log.at).map(entryOf),
      end: newest > log.at ? newest : droppedTo,
      droppedTo,
      followed: followed && followed.at > log.at ? followed.value || null : null,
    }
  }

  /** Drops all entries, and makes every position given so far one of another log. `followed`: as in `FeedAppend`. */
  async renew(followed: string | null): Promise<void> {
    await this.#parts.writer.run((draft) => {
      begin(draft)
      draft.put('logs', FOLLOWED, followed ?? '')
    })
  }

  async #open(): Promise<void> {
    await this.#parts.writer.run((draft) => {
      if (draft.get('logs', FEED) === null) begin(draft)
    })
  }

  /** Calls back soon after an append by any process. Returns how to stop. */
  onAppend(notify: () => void): () => void {
    return this.#parts.rows.onChange((spaces) => {
      if (spaces.has('feed')) notify()
    })
  }
}

/** Earlier entries are of another log, and the first to be dropped. */
function begin(draft: Draft): void {
  draft.put('logs', FEED, randomId())
}

function appendChange(draft: Draft, change: NewFeedChange): void {
  const { listingId, publisher, state, known } = change
  const key = keyOf(change)
  const latest = draft.get('feed', key)
  if (latest !== null && latest.at > known && entryOf(latest).state === state) return
  draft.put('feed', key, JSON.stringify([listingId, publisher, state]))
}

const keyOf = ({ source, key }: Pick<FeedEntry, 'source' | 'key'>): string => source + SEPARATOR + key

function entryOf({ key: name, value, at }: Row): FeedEntry {
  const [source = '', key = ''] = name.split(SEPARATOR, 2)
  const [listingId, publisher, state] = JSON.parse(value)
  return { position: at, at: Math.floor(at / 1000), source, key, listingId, publisher, state }
}
