import type { ApiKey } from '../../domain/api-key.ts'
import type { ListingRecord } from '../../domain/listing.ts'
import type { Micros } from '../../domain/timestamp.ts'
import type { Change, ChangelogPosition } from '../store.ts'
import { SqliteBlocks } from './blocks.ts'
import { SqlitePublishers } from './publishers.ts'
import { API_KEY_ROW, LISTING_ROW, type Sql } from './sql.ts'

type EntryKind = 'publisher' | 'listing' | 'key' | 'block'

const PRUNE_STEP = 1000
const POSITION = /^\d{1,15}$/

/** Its newest row is also the store's clock. Call everything inside a transaction. */
export class SqliteChangelog {
  readonly #sql: Sql
  readonly #publishers: SqlitePublishers
  readonly #blocks: SqliteBlocks
  readonly #length: number
  readonly #now: () => Micros
  #seq = 0
  #at: Micros = 0

  constructor(sql: Sql, length: number, now: () => Micros) {
    this.#sql = sql
    this.#publishers = new SqlitePublishers(sql)
    this.#blocks = new SqliteBlocks(sql)
    this.#length = length
    this.#now = now
  }

  resume(): { position: ChangelogPosition; at: Micros } {
    const newest = this.#sql.get<{ seq: number; at: Micros }>(
      'SELECT seq, at FROM changelog ORDER BY seq DESC LIMIT 1',
    )
    this.#seq = newest?.seq ?? 0
    this.#at = newest?.at ?? 0
    return { position: this.position, at: this.#at }
  }

  get position(): ChangelogPosition {
    return String(this.#seq)
  }

  nextTime(): Micros {
    return Math.max(this.#now(), this.#at + 1)
  }

  append(kind: EntryKind, id: string | number, at: Micros): void {
    this.#at = at
    this.#seq++
    this.#sql.run('INSERT INTO changelog (seq, kind, id, at) VALUES (?, ?, ?, ?)', this.#seq, kind, id, at)
  }

  prune(): void {
    if (this.#seq - (this.#oldest() ?? 0) >= this.#length + PRUNE_STEP)
      this.#sql.run('DELETE FROM changelog WHERE seq <= ?', this.#seq - this.#length)
  }

  /** `lost` if the log does not reach back to the position, or has never reached it. */
  after(
    position: ChangelogPosition,
    limit: number,
  ): { changes: Change[]; position: ChangelogPosition } | 'lost' {
    this.resume()
    const start = POSITION.test(position) ? Number(position) : Number.POSITIVE_INFINITY
    if (start > this.#seq || start + 1 < (this.#oldest() ?? this.#seq + 1)) return 'lost'
    const entries = this.#sql.all<Entry>(AFTER, start, limit)
    const end = entries.length < limit ? this.#seq : entries.at(-1)?.seq
    return { changes: entries.map((entry) => this.#change(entry)), position: String(end) }
  }

  #oldest(): number | null {
    return this.#sql.get<{ seq: number | null }>('SELECT min(seq) AS seq FROM changelog')!.seq
  }

  #change({ seq: _, kind, id, ...record }: Entry): Change {
    if (kind === 'block') return { kind, block: this.#blocks.get(id)! }
    if (kind === 'publisher') return { kind, publisher: this.#publishers.get(id)! }
    if (kind === 'key')
      return { kind, key: this.#sql.get<ApiKey>(`SELECT ${API_KEY_ROW} FROM api_key WHERE id = ?`, id)! }
    return record.listingId === null
      ? { kind: 'listing_removed', listingId: String(id) }
      : { kind, record: record as ListingRecord }
  }
}

type Entry = { seq: number; kind: EntryKind; id: string | number } & Omit<ListingRecord, 'listingId'> & {
    listingId: string | null
  }

/** Leaves out entries overtaken by a later one of the same listing: its publisher may not be known yet. */
const AFTER = `
SELECT seq, kind, id, ${LISTING_ROW}
FROM changelog LEFT JOIN listing ON kind = 'listing' AND listing_id = id
WHERE seq > ? AND (updated_at IS NULL OR updated_at = at)
ORDER BY seq LIMIT ?`
