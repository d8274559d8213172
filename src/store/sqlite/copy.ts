import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, linkSync, openSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import type { Micros } from '../../domain/timestamp.ts'
import type { CopySource, CopyTarget } from '../copy.ts'
import type { Put, Row, Space } from '../rows.ts'
import { createDatabase } from './database.ts'
import { RowTable } from './row-table.ts'
import { readSqliteRows } from './store.ts'

/** Is written beside the file, to a name that ends in `.partial`, which a process that is killed leaves behind. */
export class SqliteCopy implements CopyTarget {
  readonly #file: string
  readonly #partial: string
  readonly #database: DatabaseSync
  readonly #table: RowTable

  /** @throws an error of the file system, or of SQLite */
  constructor(file: string) {
    this.#file = file
    this.#partial = `${file}.${randomBytes(4).toString('hex')}.partial`
    // Hashes of keys are in it: for its owner only.
    closeSync(openSync(this.#partial, 'wx', 0o600))
    try {
      this.#database = createDatabase(this.#partial)
    } catch (error) {
      rmSync(this.#partial)
      throw error
    }
    this.#table = new RowTable(this.#database)
  }

  async put(rows: readonly Row[]): Promise<void> {
    this.#put(rows, 0)
  }

  async remove(space: Space, key: string): Promise<void> {
    this.#put([{ space, key, value: null, createdAt: 0, at: 0 }], 0)
  }

  async seal(end: Micros): Promise<CopySource> {
    this.#put([], end)
    this.#database.exec('COMMIT')
    this.#database.close()
    sync(this.#partial)
    return readSqliteRows(this.#partial)
  }

  #put(puts: readonly Put[], end: Micros): void {
    this.#table.put(puts, this.#table.state(), end, end)
  }

  /** A link replaces no file. */
  async publish(): Promise<void> {
    linkSync(this.#partial, this.#file)
    sync(dirname(this.#file))
  }

  async close(): Promise<void> {
    if (this.#database.isOpen) this.#database.close()
    rmSync(this.#partial, { force: true })
  }
}

function sync(path: string): void {
  const file = openSync(path, 'r')
  fsyncSync(file)
  closeSync(file)
}
