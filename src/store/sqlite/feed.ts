import type { FeedEntry } from '../../domain/feed-entry.ts'
import { randomId } from '../../domain/random-id.ts'
import { type Feed, type FeedAppend, type FeedRead, feedBytes, type NewFeedChange } from '../feed.ts'
import type { Sql } from './sql.ts'

type Transactions = {
  mutate: <T>(mutate: () => T) => Promise<T>
  read: <T>(read: () => T) => T
  /** Calls back after a commit of another process. */
  onOthers: (notify: () => void) => () => void
}

type Log = Omit<FeedRead, 'entries'> & { bytes: number }

export class SqliteFeed implements Feed {
  readonly #sql: Sql
  readonly #transactions: Transactions
  readonly #listeners = new Set<() => void>()

  constructor(sql: Sql, transactions: Transactions) {
    this.#sql = sql
    this.#transactions = transactions
  }

  async append(changes: readonly NewFeedChange[], options: FeedAppend): Promise<void> {
    const hasGrown = await this.#transactions.mutate(() => this.#append(changes, options))
    if (hasGrown) for (const listener of this.#listeners) listener()
  }

  async read(after: number, limit: number): Promise<FeedRead> {
    return this.#transactions.read(() => {
      const { bytes: _, ...log } = this.#log()
      return { ...log, entries: this.#sql.all<FeedEntry>(AFTER, after, limit) }
    })
  }

  async renew(followed: string | null): Promise<void> {
    await this.#transactions.mutate(() => {
      this.#sql.run('DELETE FROM feed_entry')
      this.#save({ incarnation: randomId(), end: 0, droppedTo: 0, bytes: 0, followed })
    })
  }

  onAppend(notify: () => void): () => void {
    const listener = () => notify()
    this.#listeners.add(listener)
    const endOthers = this.#transactions.onOthers(listener)
    return () => {
      this.#listeners.delete(listener)
      endOthers()
    }
  }

  /** @returns whether there is a new entry */
  #append(changes: readonly NewFeedChange[], { followed, maxBytes, retentionMs }: FeedAppend): boolean {
    const log = this.#log()
    const { end } = log
    const now = Date.now()
    for (const { known, ...change } of changes) {
      const latest = this.#sql.get<FeedEntry>(LATEST, change.source, change.key)
      if (latest !== null && latest.state === change.state && latest.position > known) continue
      if (latest !== null) this.#drop(latest, log)
      log.end++
      log.bytes += feedBytes(change)
      const { source, key, listingId, publisher, state } = change
      this.#sql.run(INSERT, log.end, source, key, listingId, publisher, state, now)
    }
    for (let oldest = this.#oldest(); oldest !== null; oldest = this.#oldest()) {
      if (log.bytes <= maxBytes && oldest.at >= now - retentionMs) break
      this.#drop(oldest, log)
      log.droppedTo = oldest.position
    }
    this.#save({ ...log, followed: followed ?? log.followed })
    return log.end > end
  }

  #log(): Log {
    const log = this.#sql.get<Log>(
      'SELECT incarnation, last_position AS end, dropped_to AS droppedTo, bytes, followed FROM feed',
    )
    return log ?? { incarnation: randomId(), end: 0, droppedTo: 0, bytes: 0, followed: null }
  }

  #save({ incarnation, end, droppedTo, bytes, followed }: Log): void {
    this.#sql.run(
      'INSERT OR REPLACE INTO feed (id, incarnation, last_position, dropped_to, bytes, followed) VALUES (1, ?, ?, ?, ?, ?)',
      incarnation,
      end,
      droppedTo,
      bytes,
      followed,
    )
  }

  #oldest(): FeedEntry | null {
    return this.#sql.get<FeedEntry>(AFTER, 0, 1)
  }

  #drop(entry: FeedEntry, log: Log): void {
    this.#sql.run('DELETE FROM feed_entry WHERE position = ?', entry.position)
    log.bytes -= feedBytes(entry)
  }
}

const COLUMNS = 'position, source, key, listing_id AS listingId, publisher, state, at'
const AFTER = `SELECT ${COLUMNS} FROM feed_entry WHERE position > ? ORDER BY position LIMIT ?`
const LATEST = `SELECT ${COLUMNS} FROM feed_entry WHERE source = ? AND key = ?`
const INSERT = `
INSERT INTO feed_entry (position, source, key, listing_id, publisher, state, at) VALUES (?, ?, ?, ?, ?, ?, ?)`
