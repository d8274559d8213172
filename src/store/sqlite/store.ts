import { resolve } from 'node:path'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { Emitter } from '../../domain/emitter.ts'
import { type Micros, nowMicros } from '../../domain/timestamp.ts'
import {
  EVERY_SPACE,
  inOrder,
  type Moment,
  type Place,
  type Put,
  type Row,
  type Rows,
  type RowsRead,
  readPlace,
  type Space,
  StoreUnavailable,
  storeClosed,
} from '../rows.ts'
import { Store, type StoreOptions } from '../store.ts'
import {
  BUSY,
  checkDatabase,
  MEMORY,
  openDatabase,
  primaryCode,
  readDatabase,
  sqliteFailure,
} from './database.ts'
import { inodeOf } from './database-file.ts'

const POLL_INTERVAL_MS = 200
/** On top of `BUSY_TIMEOUT_MS` at each try: about 5 s in all. */
const BUSY_RETRY_DELAY_MS = 50
const BUSY_TRIES = 50
/** Bytes that a ping writes after a failed write: more than any listing. */
const PROBE_BYTES = 128 * 1024
const FILE_LOST =
  'the database file was moved, replaced or deleted while it was open; put it back, or restart the service'

/** @throws ConfigError for a file that cannot be used, with what to do */
export function openSqliteStore(path: string, options: StoreOptions = {}): Store {
  return new Store(new SqliteRows(openDatabase(path), path === MEMORY ? null : path), options)
}

/** Opens a store to be read only. @throws ConfigError for a file that is missing, damaged or not a store */
export const readSqliteRows = (path: string): Rows => new SqliteRows(readDatabase(path), null)

/** `store`: to be read; `null` where the start creates one. @throws ConfigError as `openSqliteStore` does */
export function checkSqliteStore(path: string): { store: Store | null; warnings: string[] } {
  const { database, warnings } = checkDatabase(path)
  return { store: database && new Store(new SqliteRows(database, null), {}), warnings }
}

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

type Columns = [key: string, value: string, createdAt: Micros, at: Micros]

/** When the table began, the time of the latest commit, and the size of each space. It is a row, and that row's times. */
type State = { begun: Micros; end: Micros; sizes: Partial<Record<Space, { rows: number; bytes: number }>> }

export class SqliteRows implements Rows {
  readonly #database: DatabaseSync
  readonly #file: string | null
  /** Of the file when it was opened. */
  readonly #inode: string | null
  readonly #prepared = new Map<string, StatementSync>()
  readonly #changes = new Emitter<ReadonlySet<Space>>()
  #hasFailed = false
  #poll: NodeJS.Timeout | undefined
  /** Read when the store opens, so that no change before listening is missed. */
  #seenVersion: number

  /** @param file that other processes may write; `null` for one that this process alone has, or only reads */
  constructor(database: DatabaseSync, file: string | null) {
    this.#database = database
    this.#file = file && resolve(file)
    this.#inode = this.#file && inodeOf(this.#file)
    this.#seenVersion = this.#dataVersion()
  }

  async get(places: readonly Place[]): Promise<Moment> {
    return this.#read(() => this.#moment(places))
  }

  #moment(places: readonly Place[]): Moment {
    const { end } = this.#state()
    const rows = places.map((place) => {
      const { space, key } = readPlace(place)
      return this.#one(space, key)
    })
    return { rows, now: Math.max(nowMicros(), end + 1), end }
  }

  async commit(end: Micros, puts: readonly Put[], places: readonly Place[] = []): Promise<Moment | null> {
    const later = await this.#write(() => {
      const state = this.#state()
      if (state.end !== end) return this.#moment(places)
      this.#put(puts, state)
      return null
    })
    const spaces = new Set(puts.map(({ space }) => space))
    if (later === null) queueMicrotask(() => this.#changes.emit(spaces))
    return later
  }

  async after(spaces: readonly Space[], at: Micros | null, limit: number): Promise<RowsRead> {
    return this.#read(() => {
      const { begun, end, sizes } = this.#state()
      const read = spaces.map((space) => {
        const rows = this.#newer(space, at, limit)
        return { rows, hasMore: at !== null && rows.length === limit }
      })
      return {
        ...inOrder(read),
        end,
        isKnown: at === null || at === 0 || (at >= begun && at <= end),
        sizes: spaces.map((space) => ({
          ...(sizes[space] ?? { rows: 0, bytes: 0 }),
          newest: this.#newer(space, null, 1)[0]?.at ?? 0,
        })),
      }
    })
  }

  onChange(notify: (spaces: ReadonlySet<Space>) => void): () => void {
    const stop = this.#changes.listen(notify)
    if (this.#file !== null) this.#poll ??= setInterval(() => this.#pollOthers(), POLL_INTERVAL_MS).unref()
    return () => {
      stop()
      if (!this.#changes.isHeard) this.#stopPolling()
    }
  }

  /** Writes a row. After a failure the row has `PROBE_BYTES`. */
  async ping(): Promise<void> {
    const size = this.#hasFailed ? PROBE_BYTES : 0
    // An empty transaction succeeds on a full disk.
    await this.#write(() => this.#prepare(PUT).run(OWN, 'ping', '0'.repeat(size), 0, 0))
    this.#hasFailed = false
  }

  async close(): Promise<void> {
    if (!this.#database.isOpen) return
    this.#stopPolling()
    try {
      // To SQLite, the log of a file that was moved is that of the next file at the path.
      if (this.#file !== null) this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    } catch {
      // The log stays, as after a crash.
    }
    this.#database.close()
  }

  /** SQLite writes on into a file that was moved or deleted, which the next start does not find. */
  #requireFile(): void {
    if (this.#file !== null && inodeOf(this.#file) !== this.#inode)
      throw new StoreUnavailable(FILE_LOST, undefined, true)
  }

  async #write<T>(write: () => T): Promise<T> {
    for (let tries = 1; ; tries++) {
      if (!this.#database.isOpen) throw storeClosed()
      try {
        this.#requireFile()
        this.#begin('BEGIN IMMEDIATE')
        const result = write()
        this.#prepare('COMMIT').run()
        return result
      } catch (error) {
        this.#rollback()
        if (primaryCode(error) !== BUSY || tries === BUSY_TRIES) {
          this.#hasFailed = true
          throw sqliteFailure(error)
        }
        await new Promise((resolve) => setTimeout(resolve, BUSY_RETRY_DELAY_MS))
      }
    }
  }

  #read<T>(read: () => T): T {
    if (!this.#database.isOpen) throw storeClosed()
    try {
      this.#begin('BEGIN')
      return read()
    } catch (error) {
      throw sqliteFailure(error)
    } finally {
      this.#rollback()
    }
  }

  #begin(statement: 'BEGIN' | 'BEGIN IMMEDIATE'): void {
    if (this.#database.isTransaction) this.#prepare('ROLLBACK').run()
    this.#prepare(statement).run()
  }

  /** SQLite ends a transaction itself after some failures, such as a full disk. */
  #rollback(): void {
    try {
      if (this.#database.isOpen && this.#database.isTransaction) this.#prepare('ROLLBACK').run()
    } catch {
      // The next `#begin` tries again, and its caller gets the failure.
    }
  }

  /** A failed poll notifies as well: the listeners read, and report a lasting failure. */
  #pollOthers(): void {
    try {
      const version = this.#dataVersion()
      if (version === this.#seenVersion) return
      this.#seenVersion = version
    } catch {}
    this.#changes.emit(EVERY_SPACE)
  }

  #stopPolling(): void {
    clearInterval(this.#poll)
    this.#poll = undefined
  }

  #one(space: Space, key: string): Row | null {
    const columns = this.#prepare(GET).get(space, key) as Columns | undefined
    return columns === undefined ? null : rowOf(space, columns)
  }

  #newer(space: Space, at: Micros | null, limit: number): Row[] {
    const found =
      at === null ? this.#prepare(NEWEST).all(space, limit) : this.#prepare(AFTER).all(space, at, limit)
    const rows = (found as unknown as Columns[]).map((columns) => rowOf(space, columns))
    return at === null ? rows.reverse() : rows
  }

  #state(): State {
    const columns = this.#prepare(GET).get(OWN, 'state') as Columns | undefined
    if (columns === undefined) return { begun: 0, end: 0, sizes: {} }
    const [, sizes, begun, end] = columns
    return { begun, end, sizes: JSON.parse(sizes) }
  }

  #put(puts: readonly Put[], { begun, sizes }: State): void {
    for (const { space, key, value, createdAt, at } of puts) {
      const before = this.#prepare(BYTES).get(space, key) as [number] | undefined
      sizes[space] ??= { rows: 0, bytes: 0 }
      sizes[space].rows += Number(value !== null) - Number(before !== undefined)
      sizes[space].bytes -= before?.[0] ?? 0
      if (value === null) this.#prepare(REMOVE).run(space, key)
      else {
        sizes[space].bytes += Buffer.byteLength(key) + Buffer.byteLength(value)
        this.#prepare(PUT).run(space, key, value, createdAt, at)
      }
    }
    const times = puts.map(({ at }) => at)
    this.#prepare(PUT).run(
      OWN,
      'state',
      JSON.stringify(sizes),
      begun || Math.min(...times),
      Math.max(...times),
    )
  }

  /** Rows are arrays: for each object SQLite would name its members again. */
  #prepare(text: string): StatementSync {
    let statement = this.#prepared.get(text)
    if (statement === undefined) {
      statement = this.#database.prepare(text)
      statement.setReturnArrays(true)
      this.#prepared.set(text, statement)
    }
    return statement
  }

  #dataVersion(): number {
    return (this.#prepare('PRAGMA data_version').get() as unknown as [number])[0]
  }
}

const rowOf = (space: Space, [key, value, createdAt, at]: Columns): Row => ({
  space,
  key,
  value,
  createdAt,
  at,
})
