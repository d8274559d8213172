import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, linkSync, openSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import type { CopyTarget } from '../copy.ts'
import { type Rows, StoreUnavailable } from '../rows.ts'
import { createDatabase } from './database.ts'
import { readSqliteRows, SqliteRows } from './store.ts'

/** Is written beside the file, to a name that ends in `.partial`, which a process that is killed leaves behind. */
export class SqliteCopy implements CopyTarget {
  readonly #file: string
  readonly #partial: string
  /** Of the file: for writing, then for reading. */
  #open: Rows
  readonly rows: CopyTarget['rows'] = {
    commit: (...commit) => this.#open.commit(...commit).catch(rethrowCause),
  }

  /** @throws an error of the file system, or of SQLite */
  constructor(file: string) {
    this.#file = file
    this.#partial = `${file}.${randomBytes(4).toString('hex')}.partial`
    // Hashes of keys are in it: for its owner only.
    closeSync(openSync(this.#partial, 'wx', 0o600))
    try {
      this.#open = new SqliteRows(createDatabase(this.#partial), null)
    } catch (error) {
      rmSync(this.#partial)
      throw error
    }
  }

  async seal(): Promise<Rows> {
    await this.#open.close()
    sync(this.#partial)
    this.#open = readSqliteRows(this.#partial)
    return this.#open
  }

  /** A link replaces no file. */
  async publish(): Promise<void> {
    linkSync(this.#partial, this.#file)
    sync(dirname(this.#file))
  }

  async close(): Promise<void> {
    await this.#open.close()
    rmSync(this.#partial, { force: true })
  }
}

/** That of SQLite: what cannot be written is the copy, not the store of a service. */
function rethrowCause(error: unknown): never {
  throw error instanceof StoreUnavailable ? error.cause : error
}

function sync(path: string): void {
  const file = openSync(path, 'r')
  fsyncSync(file)
  closeSync(file)
}
