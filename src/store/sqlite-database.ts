import { mkdirSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { ConfigError } from '../errors.ts'
import { BUSY, primaryCode } from './sqlite-errors.ts'
import { ADDED, SCHEMA } from './sqlite-schema.ts'

export const MEMORY = ':memory:'

/** In the file's header (`PRAGMA application_id`): foreign databases are never written to. */
const APPLICATION_ID = 0x656e7472
const SCHEMA_VERSION = 1
const OPEN_TIMEOUT = 5000
/** How long a statement may block the event loop, in ms. Mutations wait longer, but asleep. */
const BUSY_TIMEOUT = 50

/**
 * Creates file and directory if needed. Acknowledged commits survive a power loss (`synchronous = FULL`).
 * @throws ConfigError for a file that is not ours, too new, damaged, or not writable
 */
export function openDatabase(path: string): DatabaseSync {
  const file = path === MEMORY ? MEMORY : resolve(path)
  try {
    if (file !== MEMORY) mkdirSync(dirname(file), { recursive: true })
    const database = new DatabaseSync(file, { timeout: OPEN_TIMEOUT })
    try {
      prepare(database, file)
      return database
    } catch (error) {
      database.close()
      throw error
    }
  } catch (error) {
    throw error instanceof ConfigError ? error : refused(`${file} cannot be opened: ${advice(error)}`, error)
  }
}

function prepare(database: DatabaseSync, file: string): void {
  migrate(database, file)
  if (file !== MEMORY) database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
  database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT}`)
}

/** One write transaction: of two processes that start together, one creates and the other finds. */
function migrate(database: DatabaseSync, file: string): void {
  database.exec('PRAGMA foreign_keys = ON; BEGIN IMMEDIATE')
  const version = pragma(database, 'user_version')
  if (version > SCHEMA_VERSION)
    throw refused(
      `${file} was written by a newer entrepot (schema ${version}, this one reads up to ${SCHEMA_VERSION}): ` +
        'run that version again, or point STORE_URL at another file',
    )
  if (version === 0 ? !isEmpty(database) : pragma(database, 'application_id') !== APPLICATION_ID)
    throw refused(`${file} is the database of another program: point STORE_URL at another file`)
  if (version === 0)
    database.exec(
      `${SCHEMA}; PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SCHEMA_VERSION}`,
    )
  database.exec(ADDED)
  database.exec('COMMIT')
}

const pragma = (database: DatabaseSync, name: string): number =>
  Number(database.prepare(`PRAGMA ${name}`).get()?.[name])

const isEmpty = (database: DatabaseSync): boolean =>
  database.prepare('SELECT count(*) AS n FROM sqlite_schema').get()?.n === 0

function refused(message: string, cause?: unknown): ConfigError {
  const error = new ConfigError([{ path: 'STORE_URL', message }])
  if (cause !== undefined) error.cause = cause
  return error
}

function advice(error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error)
  const code = primaryCode(error)
  if (code === NOT_A_DATABASE) return `${reason}; point STORE_URL at another file, or move this one away`
  if (code === CORRUPT) return `${reason}; restore the file from a backup, or move it away to start empty`
  if (code === BUSY) return `${reason}; another process keeps it locked, end that one first`
  return `${reason}; make the file and its directory writable, or point STORE_URL elsewhere`
}

// https://sqlite.org/rescode.html
const CORRUPT = 11
const NOT_A_DATABASE = 26
