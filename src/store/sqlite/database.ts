import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { ConfigError } from '../../errors.ts'
import { StoreUnavailable } from '../rows.ts'
import { createFile, databaseFile } from './database-file.ts'

export const MEMORY = ':memory:'

// https://sqlite.org/rescode.html
export const BUSY = 5
const CORRUPT = 11
const NOT_A_DATABASE = 26

/** In the file's header (`PRAGMA application_id`): foreign databases are never written to. */
const APPLICATION_ID = 0x656e7472
/** Rises with each change of the table or of what rows mean; a file of an older one is not converted. */
const SCHEMA_VERSION = 3
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

/** A new store in an empty file, which is durable once it is synced. The caller deletes a file that it cannot finish. */
export function createDatabase(file: string): DatabaseSync {
  const database = new DatabaseSync(file)
  // Without a file that a killed process would leave behind; Node's defensive mode ignores OFF.
  database.exec('PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF')
  create(database, file)
  return database
}

/** The file to be read, and what an operator should know of it. Changes nothing. @throws ConfigError as `openDatabase` does */
export function checkDatabase(path: string): { database: DatabaseSync | null; warnings: string[] } {
  if (path === MEMORY) return { database: null, warnings: ['listings are lost when the process ends'] }
  const file = databaseFile(path)
  requireFileOfLog(file)
  if (!existsSync(file))
    return { database: null, warnings: [`${file} does not exist; the start creates an empty store there`] }
  let isEmpty = false
  const database = open(file, { readOnly: true }, (opened) => {
    accessSync(file, constants.R_OK | constants.W_OK)
    isEmpty = assertOurs(opened, file) === 0
  })
  if (isEmpty) database.close()
  return { database: isEmpty ? null : database, warnings: [] }
}

/** Opens a store to be read only. @throws ConfigError as `openDatabase` does */
export function readDatabase(path: string): DatabaseSync {
  const file = databaseFile(path)
  if (!existsSync(file)) throw unusable(`${file} does not exist`)
  return open(file, { readOnly: true }, (database) => {
    if (assertOurs(database, file) === 0) throw unusable(`${file} is empty`)
    const damage = database.prepare('PRAGMA integrity_check(1)').get()?.integrity_check
    if (damage !== 'ok') throw unusable(`${file} is damaged: ${damage}`)
  })
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
  create(database, file)
  if (file !== MEMORY)
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; SELECT 1 FROM sqlite_schema')
  database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
}

/** One write transaction: of two processes that start together, one creates and the other finds. */
function create(database: DatabaseSync, file: string): void {
  database.exec('BEGIN IMMEDIATE')
  if (assertOurs(database, file) === 0) {
    database.exec(
      `${SCHEMA}; PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SCHEMA_VERSION}`,
    )
  }
  database.exec('COMMIT')
}

/** Returns the version of its schema: 0 for an empty database. */
function assertOurs(database: DatabaseSync, file: string): number {
  const version = pragma(database, 'user_version')
  if (version > SCHEMA_VERSION)
    throw unusable(
      `${file} was written by a newer entrepot (schema ${version}, this one reads up to ${SCHEMA_VERSION}): ` +
        'run that version again, or name another file',
      undefined,
      OtherVersion,
    )
  if (version > 0 && version < SCHEMA_VERSION && pragma(database, 'application_id') === APPLICATION_ID)
    throw unusable(
      `${file} was written by an older entrepot (schema ${version}, this one reads ${SCHEMA_VERSION}), and is not converted: ` +
        'name a new file, and let sellers run `entrepot sync`',
      undefined,
      OtherVersion,
    )
  if (version === 0 ? !isEmpty(database) : pragma(database, 'application_id') !== APPLICATION_ID)
    throw unusable(`${file} is the database of another program: name another file`)
  return version
}

const pragma = (database: DatabaseSync, name: string): number =>
  Number(database.prepare(`PRAGMA ${name}`).get()?.[name])

const isEmpty = (database: DatabaseSync): boolean =>
  database.prepare('SELECT count(*) AS n FROM sqlite_schema').get()?.n === 0

/** The file is ours, and of no use to this version. */
export class OtherVersion extends ConfigError {}

function unusable(message: string, cause?: unknown, Kind = ConfigError): ConfigError {
  const error = new Kind([{ path: 'STORE_URL', message }])
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
  primaryCode(error) === null ? error : new StoreUnavailable(resultText(error), error, true)

/** SQLite's text for the result code, without paths and values. */
const resultText = (error: unknown): string =>
  error instanceof Error && 'errstr' in error ? String(error.errstr) : 'unknown'

/** Rows lie in the order in which they were created; the index has them in the order of their latest changes. */
const SCHEMA = `
CREATE TABLE row (
  space      TEXT NOT NULL,
  key        TEXT NOT NULL,
  value      TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  UNIQUE (space, key)
) STRICT;
CREATE INDEX row_at ON row (space, at)`
