import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, linkSync, openSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import type { AuditEntry } from '../../domain/audit.ts'
import { type Micros, nowMicros } from '../../domain/timestamp.ts'
import type { CopySource, CopyTarget } from '../copy.ts'
import type { Change, SpentSignature } from '../store.ts'
import { SqliteAudit } from './audit.ts'
import { SqliteBlocks } from './blocks.ts'
import { createDatabase } from './database.ts'
import { SqlitePublishers } from './publishers.ts'
import { Sql } from './sql.ts'
import { readSqliteStore } from './store.ts'

/** Is written beside the file, to a name that ends in `.partial`, which a process that is killed leaves behind. */
export class SqliteCopy implements CopyTarget {
  readonly #file: string
  readonly #partial: string
  readonly #database: DatabaseSync
  readonly #sql: Sql
  readonly #publishers: SqlitePublishers

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
    this.#sql = new Sql(this.#database)
    this.#publishers = new SqlitePublishers(this.#sql)
  }

  put(change: Change): void {
    if (change.kind === 'listing') this.#sql.put('listing', change.record)
    else if (change.kind === 'publisher') this.#publishers.put(change.publisher)
    else if (change.kind === 'key') this.#sql.put('api_key', change.key)
    else if (change.kind === 'block') new SqliteBlocks(this.#sql).put(change.block)
    else this.#sql.run('DELETE FROM listing WHERE listing_id = ?', change.listingId)
  }

  putUsed({ signature, expiresAt }: SpentSignature): void {
    this.#sql.run(
      'INSERT OR IGNORE INTO spent_signature (signature, expires_at) VALUES (?, ?)',
      signature,
      expiresAt,
    )
  }

  putAudit(entry: AuditEntry): void {
    new SqliteAudit(this.#sql, nowMicros).put(entry)
  }

  async flush(): Promise<void> {}

  async seal(clock: Micros, latestDropped: Micros): Promise<CopySource> {
    // The newest row of the changelog is the store's clock. To a reader this one is the removal of a listing that is not there.
    this.#sql.run(`INSERT INTO changelog (seq, kind, id, at) VALUES (1, 'listing', '', ?)`, clock)
    this.#sql.run('INSERT INTO forgotten_use (id, expires_at) VALUES (1, ?)', latestDropped)
    this.#database.exec('COMMIT')
    this.#database.close()
    sync(this.#partial)
    return readSqliteStore(this.#partial)
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
