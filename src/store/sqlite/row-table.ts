import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Micros } from '../../domain/timestamp.ts'
import type { Put, Row, Space } from '../rows.ts'

const COLUMNS = 'key, value, created_at, at'
const GET = `SELECT ${COLUMNS} FROM row WHERE space = ? AND key = ?`
const AFTER = `SELECT ${COLUMNS} FROM row WHERE space = ? AND at > ? ORDER BY at LIMIT ?`
const NEWEST = `SELECT ${COLUMNS} FROM row WHERE space = ? ORDER BY at DESC LIMIT ?`
const BYTES = 'SELECT octet_length(key) + octet_length(value) FROM row WHERE space = ? AND key = ?'
const PUT = `INSERT INTO row (space, key, value, created_at, at) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (space, key) DO UPDATE SET value = excluded.value, created_at = excluded.created_at, at = excluded.at`
const REMOVE = 'DELETE FROM row WHERE space = ? AND key = ?'
/** Space of the table's own rows. */
const OWN = ''

type Size = { rows: number; bytes: number }

/** When the table began, the time of the latest commit, and the size of each space. It is a row, and that row's times. */
export type TableState = { begun: Micros; end: Micros; sizes: Readonly<Partial<Record<Space, Size>>> }

type Columns = [key: string, value: string, createdAt: Micros, at: Micros]

/** The rows of one database. Call everything in a transaction. */
export class RowTable {
  readonly #database: DatabaseSync
  readonly #prepared = new Map<string, StatementSync>()

  constructor(database: DatabaseSync) {
    this.#database = database
  }

  get(space: Space, key: string): Row | null {
    const columns = this.prepare(GET).get(space, key) as Columns | undefined
    return columns === undefined ? null : rowOf(space, columns)
  }

  /** `null`: the newest ones. */
  after(space: Space, at: Micros | null, limit: number): Row[] {
    const found =
      at === null ? this.prepare(NEWEST).all(space, limit) : this.prepare(AFTER).all(space, at, limit)
    const rows = (found as unknown as Columns[]).map((columns) => rowOf(space, columns))
    return at === null ? rows.reverse() : rows
  }

  state(): TableState {
    const columns = this.prepare(GET).get(OWN, 'state') as Columns | undefined
    if (columns === undefined) return { begun: 0, end: 0, sizes: {} }
    const [, sizes, begun, end] = columns
    return { begun, end, sizes: JSON.parse(sizes) }
  }

  /** Puts rows into the table as it is. */
  put(puts: readonly Put[], { begun, sizes }: TableState): void {
    const after: Partial<Record<Space, Size>> = { ...sizes }
    for (const { space, key, value, createdAt, at } of puts) {
      const { rows, bytes } = after[space] ?? { rows: 0, bytes: 0 }
      const before = this.prepare(BYTES).get(space, key) as [number] | undefined
      const size = value === null ? 0 : Buffer.byteLength(key) + Buffer.byteLength(value)
      after[space] = {
        rows: rows + Number(value !== null) - Number(before !== undefined),
        bytes: bytes + size - (before?.[0] ?? 0),
      }
      if (value === null) this.prepare(REMOVE).run(space, key)
      else this.prepare(PUT).run(space, key, value, createdAt, at)
    }
    const times = puts.map(({ at }) => at)
    const [first, last] = [begun || Math.min(...times), Math.max(...times)]
    this.prepare(PUT).run(OWN, 'state', JSON.stringify(after), first, last)
  }

  /** An empty transaction succeeds on a full disk. */
  probe(bytes: number): void {
    this.prepare(PUT).run(OWN, 'ping', '0'.repeat(bytes), 0, 0)
  }

  dataVersion(): number {
    return (this.prepare('PRAGMA data_version').get() as unknown as [number])[0]
  }

  /** Rows are arrays: for each object SQLite would name its members again. */
  prepare(text: string): StatementSync {
    let statement = this.#prepared.get(text)
    if (statement === undefined) {
      statement = this.#database.prepare(text)
      statement.setReturnArrays(true)
      this.#prepared.set(text, statement)
    }
    return statement
  }
}

const rowOf = (space: Space, [key, value, createdAt, at]: Columns): Row => ({
  space,
  key,
  value,
  createdAt,
  at,
})
