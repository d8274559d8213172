import type { DatabaseSync } from 'node:sqlite'
import { Emitter } from '../../domain/emitter.ts'
import { type Micros, nowMicros } from '../../domain/timestamp.ts'
import {
  EVERY_SPACE,
  inOrder,
  type Moment,
  type Place,
  type Put,
  type Rows,
  type RowsRead,
  readPlace,
  type Space,
  storeClosed,
} from '../rows.ts'
import { Store, type StoreOptions } from '../store.ts'
import { BUSY, MEMORY, openDatabase, primaryCode, readDatabase, sqliteFailure } from './database.ts'
import { FileGuard } from './database-file.ts'
import { RowTable } from './row-table.ts'

export type SqliteOptions = StoreOptions & { now?: () => Micros }

const POLL_INTERVAL_MS = 200
/** On top of `BUSY_TIMEOUT_MS` at each try: about 5 s in all. */
const BUSY_RETRY_DELAY_MS = 50
const BUSY_TRIES = 50
/** Bytes that a ping writes after a failed write: more than any listing. */
const PROBE_BYTES = 128 * 1024

/** @throws ConfigError for a file that cannot be used, with what to do */
export function openSqliteStore(path: string, options: SqliteOptions = {}): Store {
  const database = openDatabase(path)
  const guard = path === MEMORY ? null : new FileGuard(database, path)
  return new Store(new SqliteRows(database, guard, options.now), options)
}

/** Opens a store to be read only. @throws ConfigError for a file that is missing, damaged or not a store */
export const readSqliteRows = (path: string): Rows => new SqliteRows(readDatabase(path), null)

export class SqliteRows implements Rows {
  readonly #database: DatabaseSync
  readonly #guard: FileGuard | null
  readonly #table: RowTable
  readonly #now: () => Micros
  readonly #changes = new Emitter<ReadonlySet<Space>>()
  #hasFailed = false
  #poll: NodeJS.Timeout | undefined
  /** Read when the store opens, so that no change before listening is missed. */
  #seenVersion: number

  constructor(database: DatabaseSync, guard: FileGuard | null, now: () => Micros = nowMicros) {
    this.#database = database
    this.#guard = guard
    this.#table = new RowTable(database)
    this.#now = now
    this.#seenVersion = this.#table.dataVersion()
  }

  async get(places: readonly Place[]): Promise<Moment> {
    return this.#read(() => this.#moment(places))
  }

  #moment(places: readonly Place[]): Moment {
    const { end } = this.#table.state()
    const rows = places.map((place) => {
      const { space, key } = readPlace(place)
      return this.#table.get(space, key)
    })
    return { rows, now: Math.max(this.#now(), end + 1), end }
  }

  async commit(end: Micros, puts: readonly Put[], places: readonly Place[] = []): Promise<Moment | null> {
    const later = await this.#write(() => {
      const state = this.#table.state()
      if (state.end !== end) return this.#moment(places)
      this.#table.put(puts, state)
      return null
    })
    const spaces = new Set(puts.map(({ space }) => space))
    if (later === null) queueMicrotask(() => this.#changes.emit(spaces))
    return later
  }

  async after(spaces: readonly Space[], at: Micros | null, limit: number): Promise<RowsRead> {
    return this.#read(() => {
      const { begun, end, sizes } = this.#table.state()
      const read = spaces.map((space) => {
        const rows = this.#table.after(space, at, limit)
        return { rows, hasMore: at !== null && rows.length === limit }
      })
      return {
        ...inOrder(read),
        end,
        isKnown: at === null || at === 0 || (at >= begun && at <= end),
        sizes: spaces.map((space) => ({
          ...(sizes[space] ?? { rows: 0, bytes: 0 }),
          newest: this.#table.after(space, null, 1)[0]?.at ?? 0,
        })),
      }
    })
  }

  onChange(notify: (spaces: ReadonlySet<Space>) => void): () => void {
    const stop = this.#changes.listen(notify)
    if (this.#guard !== null) this.#poll ??= setInterval(() => this.#pollOthers(), POLL_INTERVAL_MS).unref()
    return () => {
      stop()
      if (!this.#changes.isHeard) this.#stopPolling()
    }
  }

  /** Writes a row. After a failure the row has `PROBE_BYTES`. */
  async ping(): Promise<void> {
    const size = this.#hasFailed ? PROBE_BYTES : 0
    await this.#write(() => this.#table.probe(size))
    this.#hasFailed = false
  }

  async close(): Promise<void> {
    if (!this.#database.isOpen) return
    this.#stopPolling()
    if (this.#guard === null) this.#database.close()
    else this.#guard.close()
  }

  async #write<T>(write: () => T): Promise<T> {
    for (let tries = 1; ; tries++) {
      if (!this.#database.isOpen) throw storeClosed()
      try {
        this.#guard?.check()
        this.#begin('BEGIN IMMEDIATE')
        const result = write()
        this.#table.prepare('COMMIT').run()
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
    if (this.#database.isTransaction) this.#table.prepare('ROLLBACK').run()
    this.#table.prepare(statement).run()
  }

  /** SQLite ends a transaction itself after some failures, such as a full disk. */
  #rollback(): void {
    try {
      if (this.#database.isOpen && this.#database.isTransaction) this.#table.prepare('ROLLBACK').run()
    } catch {
      // The next `#begin` tries again, and its caller gets the failure.
    }
  }

  /** A failed poll notifies as well: the listeners read, and report a lasting failure. */
  #pollOthers(): void {
    try {
      const version = this.#table.dataVersion()
      if (version === this.#seenVersion) return
      this.#seenVersion = version
    } catch {}
    this.#changes.emit(EVERY_SPACE)
  }

  #stopPolling(): void {
    clearInterval(this.#poll)
    this.#poll = undefined
  }
}
