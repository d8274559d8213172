import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { ApiKey } from '../../domain/api-key.ts'
import { ConfigError } from '../../errors.ts'
import { StoreUnavailable } from '../store.ts'
import { createFile, databaseFile } from './database-file.ts'

export const MEMORY = ':memory:'

// https://sqlite.org/rescode.html
export const BUSY = 5
const CORRUPT = 11
const NOT_A_DATABASE = 26

/** In the file's header (`PRAGMA application_id`): foreign databases are never written to. */
const APPLICATION_ID = 0x656e7472
const SCHEMA_VERSION = 1
const OPEN_TIMEOUT_MS = 5000
/** How long a statement may block the event loop, in ms. Mutations wait longer, but asleep. */
const BUSY_TIMEOUT_MS = 50

/**
 * Creates file and directory if needed. Acknowledged commits survive a power loss (`synchronous = FULL`).
 * @throws ConfigError for a file that is not ours, too new, damaged, or not writable
 */
export function openDatabase(path: string): DatabaseSync {
  const file = path === MEMORY ? MEMORY : databaseFile(path)
  requireFileOfLog(file)
  return open(file, {}, (database) => prepare(database, file))
}

/** SQLite deletes the log of a file that is not there. Looks at the log first: another process may create both. */
function requireFileOfLog(file: string): void {
  const log = `${file}-wal`
  const size = statSync(log, { throwIfNoEntry: false })?.size ?? 0
  if (size > 0 && !existsSync(file))
    throw unusable(
      `${file} does not exist, and ${log} has its latest writes: put the file back, or move the log away as well`,
    )
}

/** A new store in an empty file, to be written in one transaction. The caller deletes a file that it cannot finish. */
export function createDatabase(file: string): DatabaseSync {
  const database = new DatabaseSync(file)
  // Without a file that a killed process would leave behind; Node's defensive mode ignores OFF.
  database.exec('PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF')
  migrate(database, file)
  database.exec('BEGIN; PRAGMA defer_foreign_keys = ON')
  return database
}

/** What an operator should know of the file. Changes nothing. @throws ConfigError as `openDatabase` does */
export function checkDatabase(path: string): { warnings: string[]; keys: Pick<ApiKey, 'name' | 'view'>[] } {
  if (path === MEMORY) return { warnings: ['listings are lost when the process ends'], keys: [] }
  const file = databaseFile(path)
  requireFileOfLog(file)
  if (!existsSync(file))
    return { warnings: [`${file} does not exist; the start creates an empty store there`], keys: [] }
  let keys: Pick<ApiKey, 'name' | 'view'>[] = []
  open(file, { readOnly: true }, (database) => {
    accessSync(file, constants.R_OK | constants.W_OK)
    if (assertOurs(database, file) > 0) keys = readKeys(database)
  }).close()
  return { warnings: [], keys }
}

/** Of keys that could pass a gate. */
function readKeys(database: DatabaseSync): Pick<ApiKey, 'name' | 'view'>[] {
  // An older version has no views.
  const sql = "SELECT * FROM api_key WHERE revoked_at IS NULL AND scope IN ('read', 'write')"
  const rows = database.prepare(sql).all() as { name: string; view?: string | null }[]
  return rows.map(({ name, view = null }) => ({ name, view }))
}

/**
 * Opens a store to be read only. What the file of an older version lacks reads as empty.
 * @throws ConfigError as `openDatabase` does
 */
export function readDatabase(path: string): DatabaseSync {
  const file = databaseFile(path)
  if (!existsSync(file)) throw unusable(`${file} does not exist`)
  return open(file, { readOnly: true }, (database) => {
    if (assertOurs(database, file) === 0) throw unusable(`${file} is empty`)
    const damage = database.prepare('PRAGMA integrity_check(1)').get()?.integrity_check
    if (damage !== 'ok') throw unusable(`${file} is damaged: ${damage}`)
    for (const table of VIEWED) viewAsNow(database, table)
    for (const [name, columns] of Object.entries(ADDED_TABLES))
      if (!isTable(database, name)) database.exec(`CREATE TEMP TABLE ${name} ${columns}`)
  })
}

/** Whether a version with an audit log has written to the file. */
export function hasAudit(file: string): boolean {
  const database = new DatabaseSync(file, { readOnly: true })
  try {
    return isTable(database, 'audit')
  } finally {
    database.close()
  }
}

/** Hides the table of an older version behind one with the columns that it lacks. */
function viewAsNow(database: DatabaseSync, table: string): void {
  const lacking = ADDED_COLUMNS.filter(
    ([name, column]) => name === table && !hasColumn(database, table, column),
  )
  if (lacking.length === 0) return
  const values = lacking.map(([, column, type]) => `${/DEFAULT (.*)/.exec(type)?.[1] ?? 'NULL'} AS ${column}`)
  database.exec(`CREATE TEMP VIEW ${table} AS SELECT *, ${values.join(', ')} FROM main.${table}`)
}

function open(
  file: string,
  options: { readOnly?: boolean },
  prepare: (database: DatabaseSync) => void,
): DatabaseSync {
  try {
    if (file !== MEMORY && !options.readOnly) createFile(file)
    const database = new DatabaseSync(file, { timeout: OPEN_TIMEOUT_MS, ...options })
    try {
      prepare(database)
      return database
    } catch (error) {
      database.close()
      throw error
    }
  } catch (error) {
    throw error instanceof ConfigError ? error : unusable(`${file} cannot be opened: ${advice(error)}`, error)
  }
}

/** The read at the end creates the log. */
function prepare(database: DatabaseSync, file: string): void {
  migrate(database, file)
  if (file !== MEMORY)
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; SELECT 1 FROM sqlite_schema')
  database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
}

/** One write transaction: of two processes that start together, one creates and the other finds. */
function migrate(database: DatabaseSync, file: string): void {
  database.exec('PRAGMA foreign_keys = ON; BEGIN IMMEDIATE')
  if (assertOurs(database, file) === 0)
    database.exec(
      `${SCHEMA}; PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SCHEMA_VERSION}`,
    )
  for (const [name, columns] of Object.entries(ADDED_TABLES))
    database.exec(`CREATE TABLE IF NOT EXISTS ${name} ${columns}`)
  database.exec('CREATE INDEX IF NOT EXISTS listing_publisher ON listing (publisher_id)')
  database.exec('CREATE INDEX IF NOT EXISTS spent_signature_expiry ON spent_signature (expires_at)')
  database.exec('CREATE INDEX IF NOT EXISTS audit_kind ON audit (kind, at)')
  database.exec(NEW_FEED)
  for (const [table, column, type] of ADDED_COLUMNS)
    if (!hasColumn(database, table, column))
      database.exec(`ALTER TABLE ${table} ADD COLUMN ${column} ${type}`)
  database.exec('COMMIT')
}

/** Returns the version of its schema: 0 for an empty database. */
function assertOurs(database: DatabaseSync, file: string): number {
  const version = pragma(database, 'user_version')
  if (version > SCHEMA_VERSION)
    throw unusable(
      `${file} was written by a newer entrepot (schema ${version}, this one reads up to ${SCHEMA_VERSION}): ` +
        'run that version again, or name another file',
    )
  if (version === 0 ? !isEmpty(database) : pragma(database, 'application_id') !== APPLICATION_ID)
    throw unusable(`${file} is the database of another program: name another file`)
  return version
}

const pragma = (database: DatabaseSync, name: string): number =>
  Number(database.prepare(`PRAGMA ${name}`).get()?.[name])

const hasColumn = (database: DatabaseSync, table: string, column: string): boolean =>
  database.prepare('SELECT 1 FROM pragma_table_info(?) WHERE name = ?').get(table, column) !== undefined

const isTable = (database: DatabaseSync, name: string): boolean =>
  database.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(name) !== undefined

const isEmpty = (database: DatabaseSync): boolean =>
  database.prepare('SELECT count(*) AS n FROM sqlite_schema').get()?.n === 0

function unusable(message: string, cause?: unknown): ConfigError {
  const error = new ConfigError([{ path: 'STORE_URL', message }])
  if (cause !== undefined) error.cause = cause
  return error
}

function advice(error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error)
  const code = primaryCode(error)
  if (code === NOT_A_DATABASE) return `${reason}; name another file, or move this one away`
  if (code === CORRUPT) return `${reason}; restore the file from a backup, or move it away to start empty`
  if (code === BUSY) return `${reason}; another process has it locked; end that process first`
  return `${reason}; make the file and its directory writable, or name another`
}

export const primaryCode = (error: unknown): number | null =>
  error instanceof Error && 'errcode' in error && typeof error.errcode === 'number'
    ? error.errcode & 0xff
    : null

export const sqliteFailure = (error: unknown): unknown =>
  primaryCode(error) === null ? error : new StoreUnavailable(resultText(error), error)

/** SQLite's text for the result code, without paths and values. */
const resultText = (error: unknown): string =>
  error instanceof Error && 'errstr' in error ? String(error.errstr) : 'unknown'

/**
 * Schema 1. `created_at` is the row id, so inserts append and `load` reads in order. An entry whose `at` is
 * not the listing's `updated_at` was overtaken. The newest row is the store's clock: the changelog is never
 * emptied.
 */
const SCHEMA = `
CREATE TABLE publisher (
  publisher_id   INTEGER PRIMARY KEY,
  scheme         TEXT NOT NULL,
  identifier     TEXT NOT NULL,
  storefront_url TEXT,
  created_at     INTEGER NOT NULL,
  updated_at     INTEGER NOT NULL,
  UNIQUE (scheme, identifier)
) STRICT;

CREATE TABLE listing (
  created_at           INTEGER PRIMARY KEY,
  listing_id           TEXT NOT NULL UNIQUE,
  publisher_id         INTEGER NOT NULL REFERENCES publisher,
  status               TEXT NOT NULL,
  updated_at           INTEGER NOT NULL,
  offer_resource       TEXT NOT NULL,
  accepted_escrows     TEXT NOT NULL,
  demands              TEXT NOT NULL,
  max_duration_seconds TEXT NOT NULL,
  oracle_address       TEXT NOT NULL
) STRICT;

CREATE TABLE api_key (
  id         INTEGER PRIMARY KEY,
  name       TEXT NOT NULL,
  scope      TEXT NOT NULL,
  hash       TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  revoked_at INTEGER
) STRICT;

CREATE TABLE signature_use (
  signature      TEXT NOT NULL,
  operation      TEXT NOT NULL,
  listing_id     TEXT NOT NULL,
  body           TEXT NOT NULL,
  storefront_url TEXT,
  answer         TEXT NOT NULL,
  expires_at     INTEGER NOT NULL,
  PRIMARY KEY (signature, operation, listing_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX signature_use_expiry ON signature_use (expires_at);

CREATE TABLE changelog (
  seq  INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  id   ANY NOT NULL,
  at   INTEGER NOT NULL
) STRICT`

// Later additions to schema 1, which older versions ignore.

const NEW_FEED =
  'INSERT OR IGNORE INTO feed (id, incarnation, last_position, dropped_to, bytes) VALUES (1, hex(randomblob(12)), 0, 0, 0)'

const ADDED_COLUMNS = [
  ['api_key', 'expires_at', 'INTEGER'],
  ['api_key', 'view', 'TEXT'],
  ['signature_use', 'key_id', 'INTEGER'],
  ['signature_use', 'used_at', 'INTEGER'],
  // Of a write of the signed line: the answer of its mutation.
  ['signature_use', 'receipt', 'TEXT'],
  ['listing', 'settlement_options', "TEXT NOT NULL DEFAULT '[]'"],
  ['publisher', 'rotations', "TEXT NOT NULL DEFAULT '[]'"],
] as const

/** What a reader of an older file needs of them. */
const VIEWED = ['api_key', 'listing', 'publisher'] as const

/** One row at most: of `feed` its log, of `forgotten_use` the latest expiry of a spent signature that was dropped. */
const ADDED_TABLES = {
  feed: `(
    id            INTEGER PRIMARY KEY CHECK (id = 1),
    incarnation   TEXT NOT NULL,
    last_position INTEGER NOT NULL,
    dropped_to    INTEGER NOT NULL,
    bytes         INTEGER NOT NULL,
    followed      TEXT
  ) STRICT`,
  feed_entry: `(
    position   INTEGER PRIMARY KEY,
    source     TEXT NOT NULL,
    key        TEXT NOT NULL,
    listing_id TEXT NOT NULL,
    publisher  TEXT,
    state      TEXT NOT NULL,
    at         INTEGER NOT NULL,
    UNIQUE (source, key)
  ) STRICT`,
  forgotten_use: `(
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    expires_at INTEGER NOT NULL
  ) STRICT`,
  spent_signature: `(
    signature  TEXT PRIMARY KEY,
    expires_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID`,
  block: `(
    id         INTEGER PRIMARY KEY,
    content    TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    until      INTEGER,
    ended_at   INTEGER
  ) STRICT`,
  audit: `(
    at      INTEGER PRIMARY KEY,
    kind    TEXT NOT NULL,
    content TEXT NOT NULL,
    written INTEGER NOT NULL
  ) STRICT`,
  key_use: `(
    key_id       INTEGER PRIMARY KEY,
    calls        INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL
  ) STRICT`,
  // By identity: the publisher that has replaced it.
  replaced_identity: `(
    scheme       TEXT NOT NULL,
    identifier   TEXT NOT NULL,
    publisher_id INTEGER NOT NULL,
    PRIMARY KEY (scheme, identifier)
  ) STRICT, WITHOUT ROWID`,
  ping: `(
    id      INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    padding BLOB NOT NULL
  ) STRICT`,
}
