import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, linkSync, openSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { fieldsOf } from '../../domain/listing.ts'
import type { Micros } from '../../domain/timestamp.ts'
import type { CopySource, CopyTarget } from '../copy.ts'
import type { Change } from '../store.ts'
import { createDatabase } from './database.ts'
import { KEY_COLUMNS, LISTING_COLUMNS, PUBLISHER_COLUMNS } from './records.ts'
import { readSqliteStore } from './store.ts'

/** Is written beside the file, to a name that ends in `.partial`, which a process that is killed leaves behind. */
export class SqliteCopy implements CopyTarget {
  readonly #file: string
  readonly #partial: string
  readonly #database: DatabaseSync
  readonly #put: Record<'listing' | 'publisher' | 'api_key', StatementSync>
  readonly #removeListing: StatementSync

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
    this.#put = {
      listing: this.#replace('listing', LISTING_COLUMNS),
      publisher: this.#replace('publisher', PUBLISHER_COLUMNS),
      api_key: this.#replace('api_key', KEY_COLUMNS),
    }
    this.#removeListing = this.#database.prepare('DELETE FROM listing WHERE listing_id = ?')
  }

  put(change: Change): void {
    if (change.kind === 'listing') {
      this.#put.listing.run(...fieldsOf(change.record))
    } else if (change.kind === 'listing_removed') {
      this.#removeListing.run(change.listingId)
    } else if (change.kind === 'publisher') {
      const { publisherId, scheme, identifier, storefrontUrl, createdAt, updatedAt } = change.publisher
      this.#put.publisher.run(publisherId, scheme, identifier, storefrontUrl, createdAt, updatedAt)
    } else {
      const { id, name, scope, hash, createdAt, revokedAt, expiresAt } = change.key
      this.#put.api_key.run(id, name, scope, hash, createdAt, revokedAt, expiresAt)
    }
  }

  async flush(): Promise<void> {}

  async seal(clock: Micros, forgottenUse: Micros): Promise<CopySource> {
    // The newest row of the changelog is the store's clock. To a reader this one is the removal of a listing that is not there.
    this.#database
      .prepare(`INSERT INTO changelog (seq, kind, id, at) VALUES (1, 'listing', '', ?)`)
      .run(clock)
    this.#database.prepare('INSERT INTO forgotten_use (id, expires_at) VALUES (1, ?)').run(forgottenUse)
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

  #replace(table: string, columns: string): StatementSync {
    const values = columns.replace(/\w+/g, '?')
    return this.#database.prepare(`INSERT OR REPLACE INTO ${table} (${columns}) VALUES (${values})`)
  }
}

function sync(path: string): void {
  const file = openSync(path, 'r')
  fsyncSync(file)
  closeSync(file)
}
