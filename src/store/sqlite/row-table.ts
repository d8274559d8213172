import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Micros } from '../../domain/timestamp.ts'
import type { Put, Row, Space } from '../rows.ts'

// The space '' is the database's own: a row whose time is that of the latest commit, and of each space its size.
const GET = 'SELECT space, key, value, created_at AS createdAt, at FROM row WHERE space = ? AND key = ?'
const VERSION = 'SELECT at, octet_length(value) AS bytes FROM row WHERE space = ? AND key = ?'
const AFTER = `${GET.slice(0, GET.indexOf(' AND key'))} AND at > ? ORDER BY at LIMIT ?`
const NEWEST = `${GET.slice(0, GET.indexOf(' AND key'))} ORDER BY at DESC LIMIT ?`
const PUT = `INSERT INTO row (space, key, value, created_at, at) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (space, key) DO UPDATE SET value = excluded.value, created_at = excluded.created_at, at = excluded.at`
const REMOVE = 'DELETE FROM row WHERE space = ? AND key = ?'
const OWN = ''
const CLOCK = 'clock'

type Size = { rows: number; bytes: number }

/** The rows of one database. Call everything in a transaction. */
export class RowTable {
  readonly #database: DatabaseSync
  readonly #prepared = new Map<string, StatementSync>()

  constructor(database: DatabaseSync) {
    this.#database = database
  }

  get(space: Space, key: string): Row | null {
    return this.#one<Row>(GET, space, key)
  }

  version(space: Space, key: string): Micros | null {
    return this.#one<{ at: Micros }>(VERSION, space, key)?.at ?? null
  }

  after(space: Space, at: Micros | null, limit: number): Row[] {
    const rows = at === null ? this.#all(NEWEST, space, limit) : this.#all(AFTER, space, at, limit)
    return at === null ? rows.reverse() : rows
  }

  newest(space: Space): Micros {
    return (this.#all(NEWEST, space, 1)[0] as Row | undefined)?.at ?? 0
  }

  /** When the table began, and the time of the latest commit. */
  clock(): { begun: Micros; end: Micros } {
    const row = this.#one<Row>(GET, OWN, CLOCK)
    return { begun: row?.createdAt ?? 0, end: row?.at ?? 0 }
  }

  setClock(begun: Micros, end: Micros): void {
    this.#run(PUT, OWN, CLOCK, '', begun, end)
  }

  size(space: Space): Size {
    const [rows = 0, bytes = 0] = (this.#one<Row>(GET, OWN, space)?.value ?? '0 0').split(' ').map(Number)
    return { rows, bytes }
  }

  put(puts: readonly Put[]): void {
    const sizes = new Map<Space, Size>()
    for (const { space, key, value, createdAt, at } of puts) {
      const size = sizes.get(space) ?? this.size(space)
      sizes.set(space, size)
      const before = this.#one<{ bytes: number }>(VERSION, space, key)
      const keyBytes = Buffer.byteLength(key)
      if (before !== null) size.bytes -= keyBytes + before.bytes
      if (value !== null) size.bytes += keyBytes + Buffer.byteLength(value)
      size.rows += Number(value !== null) - Number(before !== null)
      if (value === null) this.#run(REMOVE, space, key)
      else this.#run(PUT, space, key, value, createdAt, at)
    }
    for (const [space, { rows, bytes }] of sizes) this.#run(PUT, OWN, space, `${rows} ${bytes}`, 0, 0)
  }

  /** An empty transaction succeeds on a full disk. */
  probe(bytes: number): void {
    this.#run(PUT, OWN, 'ping', '0'.repeat(bytes), 0, 0)
  }

  dataVersion(): number {
    return this.#one<{ data_version: number }>('PRAGMA data_version')!.data_version
  }

  #one<T>(text: string, ...values: (string | number)[]): T | null {
    return (this.#prepare(text).get(...values) as T | undefined) ?? null
  }

  #all(text: string, ...values: (string | number)[]): Row[] {
    return this.#prepare(text).all(...values) as Row[]
  }

  #run(text: string, ...values: (string | number)[]): void {
    this.#prepare(text).run(...values)
  }

  #prepare(text: string): StatementSync {
    const statement = this.#prepared.get(text) ?? this.#database.prepare(text)
    this.#prepared.set(text, statement)
    return statement
  }
}
