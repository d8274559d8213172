import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { ApiKey, KeyUseStorage } from '../../domain/api-key.ts'
import { type Micros, nowMicros } from '../../domain/timestamp.ts'
import {
  type ChangelogPosition,
  type LoadVisitor,
  type NewKey,
  type PublishCommand,
  type PublishOutcome,
  type RemoveCommand,
  type RemoveOutcome,
  type Store,
  storeClosed,
  type UpdateCommand,
  type UpdateOutcome,
  type UseKey,
} from '../store.ts'
import { SqliteChangelog } from './changelog.ts'
import {
  BUSY,
  createFileCheck,
  MEMORY,
  openDatabase,
  primaryCode,
  readDatabase,
  sqliteFailure,
} from './database.ts'
import { GroupCommit, type Transaction } from './group-commit.ts'
import { SqliteMutations } from './mutations.ts'
import { SqliteRecords } from './records.ts'

export type SqliteOptions = {
  /** Entries kept at least. Default 100,000; a reader of an older position loads again. */
  changelogLength?: number
  now?: () => Micros
}

const CHANGELOG_LENGTH = 100_000
const POLL_INTERVAL_MS = 200
/** Rows per turn of the event loop: about 3 ms. More would outlive the collector's young generation. */
const LOAD_PAGE = 250
/** On top of `BUSY_TIMEOUT_MS` at each try: about 5 s in all. */
const BUSY_RETRY_DELAY_MS = 50
const BUSY_TRIES = 50
/** Bytes that a ping writes after a failed write: more than any listing. */
const PROBE_BYTES = 128 * 1024
const LATEST_USE = `
SELECT max(expires_at) AS latest
FROM (SELECT expires_at FROM signature_use UNION ALL SELECT expires_at FROM forgotten_use)`

/** @throws ConfigError for a file that cannot be used, with what to do */
export function openSqliteStore(path: string, options: SqliteOptions = {}): SqliteStore {
  const database = openDatabase(path)
  return new SqliteStore(database, path === MEMORY ? null : createFileCheck(path), options)
}

/** To read a store as it is. @throws ConfigError for a file that is missing, damaged or not a store */
export const readSqliteStore = (path: string): SqliteStore => new SqliteStore(readDatabase(path), null, {})

class SqliteStore implements Store {
  readonly #database: DatabaseSync
  readonly #checkFile: (() => void) | null
  readonly #putPing: StatementSync
  #hasFailed = false
  readonly #records: SqliteRecords
  readonly #changelog: SqliteChangelog
  readonly #mutations: SqliteMutations
  /** Outside the changelog: other replicas read it when they need it. */
  readonly keyUses: KeyUseStorage = {
    add: (uses) =>
      this.#mutate(() => {
        for (const use of uses) this.#records.addKeyUse(use)
      }),
    read: async () => this.#read(() => this.#records.keyUses()),
  }
  readonly #group: GroupCommit
  readonly #listeners = new Set<() => void>()
  #poll: NodeJS.Timeout | undefined
  /** Read when the store opens, so that no change before listening is missed. */
  #seenVersion: number
  #closing: Promise<void> | undefined

  constructor(database: DatabaseSync, checkFile: (() => void) | null, options: SqliteOptions) {
    const { changelogLength = CHANGELOG_LENGTH, now = nowMicros } = options
    this.#database = database
    this.#records = new SqliteRecords(database)
    this.#changelog = new SqliteChangelog(database, this.#records, changelogLength, now)
    this.#mutations = new SqliteMutations(database, this.#records, this.#changelog)
    this.#checkFile = checkFile
    this.#putPing = database.prepare(
      'INSERT OR REPLACE INTO ping (id, at, padding) VALUES (1, ?, zeroblob(?))',
    )
    this.#group = new GroupCommit(this.#transaction())
    this.#seenVersion = this.#dataVersion()
  }

  publish(command: PublishCommand): Promise<PublishOutcome> {
    return this.#mutate(() => this.#mutations.publish(command))
  }

  update(command: UpdateCommand): Promise<UpdateOutcome> {
    return this.#mutate(() => this.#mutations.update(command))
  }

  remove(command: RemoveCommand): Promise<RemoveOutcome> {
    return this.#mutate(() => this.#mutations.remove(command))
  }

  async hasUse(key: UseKey): Promise<boolean> {
    return this.#read(() => this.#mutations.hasUse(key))
  }

  /** Latest expiry of all used signatures, forgotten ones included; 0 without any. */
  async latestUse(): Promise<Micros> {
    return this.#read(() => Number(this.#database.prepare(LATEST_USE).get()?.latest ?? 0))
  }

  addKey(key: NewKey): Promise<ApiKey> {
    return this.#mutate(() => this.#mutations.addKey(key))
  }

  seedKey(key: NewKey): Promise<ApiKey | null> {
    return this.#mutate(() => this.#mutations.seedKey(key))
  }

  revokeKey(id: number): Promise<ApiKey | null> {
    return this.#mutate(() => this.#mutations.revokeKey(id))
  }

  /** Writes a row: an empty transaction succeeds on a full disk. After a failure the row has `PROBE_BYTES`. */
  async ping(): Promise<void> {
    const size = this.#hasFailed ? PROBE_BYTES : 0
    await this.#mutate(() => this.#putPing.run(nowMicros(), size))
    this.#hasFailed = false
  }

  async load(visitor: LoadVisitor): Promise<ChangelogPosition> {
    // Read first: changes during the load come after this position.
    const { position, at } = this.#read(() => this.#changelog.resume())
    await this.#visitPages(0, (after) => {
      const keys = this.#read(() => this.#records.keysAfter(after, LOAD_PAGE))
      for (const key of keys) visitor.change({ kind: 'key', key })
      return keys.length < LOAD_PAGE ? null : keys.at(-1)!.id
    })
    await this.#visitPages(0, (after) => {
      const publishers = this.#read(() => this.#records.publishersAfter(after, LOAD_PAGE))
      for (const publisher of publishers) visitor.change({ kind: 'publisher', publisher })
      return publishers.length < LOAD_PAGE ? null : publishers.at(-1)!.publisherId
    })
    // Leaves later listings to the changelog: their publishers may not have been visited.
    await this.#visitPages(0, async (after) => {
      const { page, last } = this.#read(() => this.#records.listingsBetween(after, at, LOAD_PAGE))
      if (page.count > 0) await visitor.listings(page)
      return page.count < LOAD_PAGE ? null : last
    })
    return position
  }

  async changesAfter(position: ChangelogPosition, limit: number) {
    return this.#read(() => this.#changelog.after(position, limit))
  }

  onChange(notify: () => void): () => void {
    // Makes subscriptions of the same function distinct.
    const listener = () => notify()
    this.#listeners.add(listener)
    if (this.#checkFile !== null)
      this.#poll ??= setInterval(() => this.#pollOthers(), POLL_INTERVAL_MS).unref()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.#stopPolling()
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#group.drained().then(() => {
      this.#stopPolling()
      this.#database.close()
    })
    return this.#closing
  }

  async #mutate<T>(mutate: () => T): Promise<T> {
    if (this.#closing !== undefined) throw storeClosed()
    try {
      return await this.#group.run(mutate)
    } catch (error) {
      this.#hasFailed = true
      throw sqliteFailure(error)
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

  async #visitPages(
    first: number,
    visitPage: (after: number) => number | null | Promise<number | null>,
  ): Promise<void> {
    for (let after: number | null = first; after !== null; ) {
      after = await visitPage(after)
      if (after !== null) await new Promise(setImmediate)
    }
  }

  #transaction(): Transaction {
    const commit = this.#database.prepare('COMMIT')
    let before: ChangelogPosition
    return {
      begin: () => {
        this.#checkFile?.()
        this.#begin('BEGIN IMMEDIATE')
        before = this.#changelog.resume().position
      },
      commit: () => {
        this.#changelog.prune()
        commit.run()
        if (this.#changelog.position !== before) queueMicrotask(() => this.#notify())
      },
      rollback: () => this.#rollback(),
      retryAfter: (failure, tries) =>
        primaryCode(failure) === BUSY && tries < BUSY_TRIES ? BUSY_RETRY_DELAY_MS : null,
    }
  }

  #begin(statement: 'BEGIN' | 'BEGIN IMMEDIATE'): void {
    if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
    this.#database.exec(statement)
  }

  /** SQLite ends a transaction itself after some failures, such as a full disk. */
  #rollback(): void {
    try {
      if (this.#database.isOpen && this.#database.isTransaction) this.#database.exec('ROLLBACK')
    } catch {
      // The next `#begin` tries again, and its caller gets the failure.
    }
  }

  #notify(): void {
    for (const listener of this.#listeners) listener()
  }

  /** A failed poll notifies as well: the listeners read the changelog and report a lasting failure. */
  #pollOthers(): void {
    try {
      const version = this.#dataVersion()
      if (version === this.#seenVersion) return
      this.#seenVersion = version
    } catch {}
    this.#notify()
  }

  /** Changes only when another connection commits. */
  #dataVersion(): number {
    return Number(this.#database.prepare('PRAGMA data_version').get()?.data_version)
  }

  #stopPolling(): void {
    clearInterval(this.#poll)
    this.#poll = undefined
  }
}
