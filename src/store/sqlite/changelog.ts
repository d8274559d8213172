import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Micros } from '../../domain/timestamp.ts'
import type { Change, ChangelogPosition } from '../store.ts'
import { LISTING_COLUMNS, listingAt, prepareArrays, type SqliteRecords, type SqliteRow } from './records.ts'

type EntryKind = 'publisher' | 'listing' | 'key'

const PRUNE_STEP = 1000
const POSITION = /^\d{1,15}$/

/** Its newest row is also the store's clock. Call everything inside a transaction. */
export class SqliteChangelog {
  readonly #newest: StatementSync
  readonly #oldest: StatementSync
  readonly #insert: StatementSync
  readonly #forget: StatementSync
  readonly #after: StatementSync
  readonly #length: number
  readonly #now: () => Micros
  readonly #records: SqliteRecords
  #seq = 0
  #at: Micros = 0

  constructor(database: DatabaseSync, records: SqliteRecords, length: number, now: () => Micros) {
    this.#newest = database.prepare('SELECT seq, at FROM changelog ORDER BY seq DESC LIMIT 1')
    this.#oldest = database.prepare('SELECT min(seq) AS seq FROM changelog')
    this.#insert = database.prepare('INSERT INTO changelog (seq, kind, id, at) VALUES (?, ?, ?, ?)')
    this.#forget = database.prepare('DELETE FROM changelog WHERE seq <= ?')
    this.#after = prepareArrays(database, AFTER)
    this.#records = records
    this.#length = length
    this.#now = now
  }

  resume(): { position: ChangelogPosition; at: Micros } {
    const newest = this.#newest.get()
    this.#seq = Number(newest?.seq ?? 0)
    this.#at = Number(newest?.at ?? 0)
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
    this.#insert.run(this.#seq, kind, id, at)
  }

  prune(): void {
    const oldest = Number(this.#oldest.get()?.seq ?? 0)
    if (this.#seq - oldest >= this.#length + PRUNE_STEP) this.#forget.run(this.#seq - this.#length)
  }

  /** `lost` if the log does not reach back to the position, or has never reached it. */
  after(
    position: ChangelogPosition,
    limit: number,
  ): { changes: Change[]; position: ChangelogPosition } | 'lost' {
    this.resume()
    const start = POSITION.test(position) ? Number(position) : Number.POSITIVE_INFINITY
    const oldest = Number(this.#oldest.get()?.seq ?? this.#seq + 1)
    if (start > this.#seq || start + 1 < oldest) return 'lost'
    const rows = this.#after.all(start, limit)
    const end = rows.length < limit ? this.#seq : rows.at(-1)?.[0]
    return { changes: rows.map((row) => this.#change(row)), position: String(end) }
  }

  #change(row: SqliteRow): Change {
    const kind = row[1] as EntryKind
    if (kind === 'publisher') return { kind, publisher: this.#records.publisher(Number(row[2]))! }
    if (kind === 'key') return { kind, key: this.#records.key(Number(row[2]))! }
    if (row[3] === null) return { kind: 'listing_removed', listingId: String(row[2]) }
    return { kind, record: listingAt(row, 3) }
  }
}

/** Leaves out entries overtaken by a later one of the same listing: its publisher may not be known yet. */
const AFTER = `
SELECT seq, kind, id, ${LISTING_COLUMNS}
FROM changelog LEFT JOIN listing ON kind = 'listing' AND listing_id = id
WHERE seq > ? AND (updated_at IS NULL OR updated_at = at)
ORDER BY seq LIMIT ?`
