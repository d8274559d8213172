import type { DatabaseSync } from 'node:sqlite'
import type { ApiKey, KeyUse, KeyUseStorage } from '../../domain/api-key.ts'
import type { AuditBounds, AuditEntry, NewAuditEntry } from '../../domain/audit.ts'
import type { Block, NewBlock } from '../../domain/block.ts'
import { FIELD_END, LISTING_END } from '../../domain/listing.ts'
import { type Micros, nowMicros } from '../../domain/timestamp.ts'
import {
  type ChangelogPosition,
  type LoadVisitor,
  type NewKey,
  type PublishCommand,
  type PublishOutcome,
  type RecordedAnswer,
  type RemoveCommand,
  type RemoveOutcome,
  type Reservation,
  type RetireCommand,
  type RetireOutcome,
  type RotateCommand,
  type RotateOutcome,
  requireLaterUses,
  SPENT_SIGNATURES,
  type SpentSignature,
  type Store,
  storeClosed,
  type UpdateCommand,
  type UpdateOutcome,
  type UseKey,
  type WriteRequest,
} from '../store.ts'
import { SqliteAudit } from './audit.ts'
import { SqliteBlocks } from './blocks.ts'
import { SqliteChangelog } from './changelog.ts'
import { BUSY, MEMORY, openDatabase, primaryCode, readDatabase, sqliteFailure } from './database.ts'
import { FileGuard } from './database-file.ts'
import { SqliteFeed } from './feed.ts'
import { GroupCommit, type Transaction } from './group-commit.ts'
import { SqliteMutations } from './mutations.ts'
import { SqlitePublishers } from './publishers.ts'
import { SpentSignatures } from './spent-signatures.ts'
import { API_KEY_ROW, COLUMNS, Sql } from './sql.ts'

export type SqliteOptions = {
  /** Entries kept at least. Default 100,000; a reader of an older position loads again. */
  changelogLength?: number
  /** Default `SPENT_SIGNATURES`. */
  spentSignatures?: number
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
const PUT_PING = 'INSERT OR REPLACE INTO ping (id, at, padding) VALUES (1, ?, zeroblob(?))'
const ADD_KEY_USE = `
INSERT INTO key_use (key_id, calls, last_used_at) VALUES (?, ?, ?)
ON CONFLICT (key_id) DO UPDATE SET calls = calls + excluded.calls, last_used_at = max(last_used_at, excluded.last_used_at)`
const KEY_USES = 'SELECT key_id AS keyId, calls, last_used_at AS lastUsedAt FROM key_use'
const KEYS_AFTER = `SELECT ${API_KEY_ROW} FROM api_key WHERE id > ? ORDER BY id LIMIT ?`
/** SQLite joins the texts: strings would double the time, and so would an order in `group_concat`. */
const LISTINGS_BETWEEN = `
SELECT count(*) AS count, CAST(group_concat(packed, '') AS BLOB) AS bytes, max(created_at) AS last FROM (
  SELECT created_at, concat_ws(char(${FIELD_END}), ${COLUMNS.listing}) || char(${LISTING_END}) AS packed
  FROM listing WHERE created_at > ? AND created_at <= ? ORDER BY created_at LIMIT ?
)`
type ListingsPage = { count: number; bytes: Uint8Array<ArrayBuffer> | null; last: Micros }

/** @throws ConfigError for a file that cannot be used, with what to do */
export function openSqliteStore(path: string, options: SqliteOptions = {}): SqliteStore {
  const database = openDatabase(path)
  return new SqliteStore(database, path === MEMORY ? null : new FileGuard(database, path), options)
}

/** Opens a store to be read only. @throws ConfigError for a file that is missing, damaged or not a store */
export const readSqliteStore = (path: string): SqliteStore => new SqliteStore(readDatabase(path), null, {})

class SqliteStore implements Store {
  readonly #database: DatabaseSync
  readonly #guard: FileGuard | null
  #hasFailed = false
  readonly #sql: Sql
  readonly #changelog: SqliteChangelog
  readonly #spent: SpentSignatures
  readonly #mutations: SqliteMutations
  readonly #audit: SqliteAudit
  /** Outside the changelog: other replicas read it when they need it. */
  readonly keyUses: KeyUseStorage = {
    add: (uses) =>
      this.#mutate(() => {
        for (const { keyId, calls, lastUsedAt } of uses) this.#sql.run(ADD_KEY_USE, keyId, calls, lastUsedAt)
      }),
    read: async () => this.#read(() => this.#sql.all<KeyUse>(KEY_USES)),
  }
  readonly feed: SqliteFeed
  readonly #group: GroupCommit
  readonly #listeners = new Set<() => void>()
  #poll: NodeJS.Timeout | undefined
  /** Read when the store opens, so that no change before listening is missed. */
  #seenVersion: number
  #closing: Promise<void> | undefined

  constructor(database: DatabaseSync, guard: FileGuard | null, options: SqliteOptions) {
    const {
      changelogLength = CHANGELOG_LENGTH,
      spentSignatures = SPENT_SIGNATURES,
      now = nowMicros,
    } = options
    this.#database = database
    this.#sql = new Sql(database)
    this.#changelog = new SqliteChangelog(this.#sql, changelogLength, now)
    this.#spent = new SpentSignatures(this.#sql, spentSignatures)
    this.#mutations = new SqliteMutations(this.#sql, this.#changelog, this.#spent)
    this.#audit = new SqliteAudit(this.#sql, now)
    this.feed = new SqliteFeed(this.#sql, {
      mutate: (mutate) => this.#mutate(mutate),
      read: (read) => this.#read(read),
      onOthers: (notify) => this.onChange(notify),
    })
    this.#guard = guard
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

  rotate(command: RotateCommand): Promise<RotateOutcome> {
    return this.#mutate(() => this.#mutations.rotate(command))
  }

  retire(command: RetireCommand): Promise<RetireOutcome> {
    return this.#mutate(() => this.#mutations.retire(command))
  }

  reserve(request: WriteRequest): Promise<Reservation> {
    return this.#mutate(() => this.#mutations.requests.reserve(request))
  }

  settle(request: WriteRequest, answer: RecordedAnswer | null): Promise<void> {
    return this.#mutate(() => this.#mutations.requests.settle(request, answer))
  }

  async hasUse(key: UseKey): Promise<boolean> {
    return this.#read(() => this.#mutations.hasUse(key))
  }

  async *usedSignatures(after: Micros): AsyncGenerator<SpentSignature[]> {
    for (let last = ''; ; ) {
      const page = this.#read(() => this.#spent.page(after, last))
      if (page.length === 0) return
      yield page
      last = page.at(-1)!.signature
    }
  }

  async latestDropped(): Promise<Micros> {
    return this.#read(() => this.#spent.latestDropped())
  }

  addKey(key: NewKey): Promise<ApiKey> {
    return this.#mutate(() => this.#mutations.addKey(key))
  }

  seedKey(key: NewKey): Promise<ApiKey | null> {
    return this.#mutate(() => this.#mutations.seedKey(key))
  }

  replaceKey(id: number, endsAt: Micros, key: NewKey): Promise<ApiKey | null> {
    return this.#mutate(() => this.#mutations.replaceKey(id, endsAt, key))
  }

  revokeKey(id: number): Promise<ApiKey | null> {
    return this.#mutate(() => this.#mutations.revokeKey(id))
  }

  addBlock(block: NewBlock): Promise<Block> {
    return this.#mutate(() => this.#mutations.addBlock(block))
  }

  endBlock(id: number, onlyIfDue = false): Promise<Block | null> {
    return this.#mutate(() => this.#mutations.endBlock(id, onlyIfDue))
  }

  appendAudit(entry: NewAuditEntry, bounds: AuditBounds): Promise<AuditEntry> {
    return this.#mutate(() => this.#audit.append(entry, bounds))
  }

  async readAudit(since: Micros | null, limit: number): Promise<AuditEntry[]> {
    return this.#read(() => this.#audit.read(since, limit))
  }

  /** Writes a row: an empty transaction succeeds on a full disk. After a failure the row has `PROBE_BYTES`. */
  async ping(): Promise<void> {
    const size = this.#hasFailed ? PROBE_BYTES : 0
    const latestDropped = await this.#mutate(() => {
      this.#sql.run(PUT_PING, nowMicros(), size)
      return this.#spent.latestDropped()
    })
    this.#hasFailed = false
    requireLaterUses(latestDropped)
  }

  async load(visitor: LoadVisitor): Promise<ChangelogPosition> {
    // Read first: changes during the load come after this position.
    const { position, at } = this.#read(() => this.#changelog.resume())
    await this.#visitPages((after) => {
      const blocks = this.#read(() => new SqliteBlocks(this.#sql).page(after, LOAD_PAGE))
      for (const block of blocks) visitor.change({ kind: 'block', block })
      return blocks.length < LOAD_PAGE ? null : blocks.at(-1)!.id
    })
    await this.#visitPages((after) => {
      const keys = this.#read(() => this.#sql.all<ApiKey>(KEYS_AFTER, after, LOAD_PAGE))
      for (const key of keys) visitor.change({ kind: 'key', key })
      return keys.length < LOAD_PAGE ? null : keys.at(-1)!.id
    })
    await this.#visitPages((after) => {
      const publishers = this.#read(() => new SqlitePublishers(this.#sql).page(after, LOAD_PAGE))
      for (const publisher of publishers) visitor.change({ kind: 'publisher', publisher })
      return publishers.length < LOAD_PAGE ? null : publishers.at(-1)!.publisherId
    })
    // Leaves later listings to the changelog: their publishers may not have been visited.
    await this.#visitPages(async (after) => {
      const page = this.#read(() => this.#sql.get<ListingsPage>(LISTINGS_BETWEEN, after, at, LOAD_PAGE)!)
      if (page.bytes !== null) await visitor.listings({ count: page.count, bytes: page.bytes })
      return page.count < LOAD_PAGE ? null : page.last
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
    if (this.#guard !== null) this.#poll ??= setInterval(() => this.#pollOthers(), POLL_INTERVAL_MS).unref()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.#stopPolling()
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#group.drained().then(() => {
      this.#stopPolling()
      if (this.#guard === null) this.#database.close()
      else this.#guard.close()
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

  async #visitPages(visitPage: (after: number) => number | null | Promise<number | null>): Promise<void> {
    for (let after: number | null = 0; after !== null; ) {
      after = await visitPage(after)
      if (after !== null) await new Promise(setImmediate)
    }
  }

  #transaction(): Transaction {
    let before: ChangelogPosition
    return {
      begin: () => {
        this.#guard?.check()
        this.#begin('BEGIN IMMEDIATE')
        before = this.#changelog.resume().position
      },
      commit: () => {
        this.#changelog.prune()
        this.#sql.run('COMMIT')
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
      this.#guard?.check()
    } catch {
      // The next write fails as well. A lost log is saved here, before the process may be killed.
    }
    try {
      const version = this.#dataVersion()
      if (version === this.#seenVersion) return
      this.#seenVersion = version
    } catch {}
    this.#notify()
  }

  /** Changes only when another connection commits. */
  #dataVersion(): number {
    return this.#sql.get<{ data_version: number }>('PRAGMA data_version')!.data_version
  }

  #stopPolling(): void {
    clearInterval(this.#poll)
    this.#poll = undefined
  }
}
