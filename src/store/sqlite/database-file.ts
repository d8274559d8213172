import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  realpathSync,
  statSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { StoreUnavailable } from '../rows.ts'

const MAX_LINKS = 40

/** Absolute, and without symbolic links, also to a file that is missing: SQLite keeps the log beside their target. */
export function databaseFile(path: string): string {
  let file = resolve(path)
  for (let n = 0; n < MAX_LINKS && isLink(file); n++)
    file = resolve(realpathSync(dirname(file)), readlinkSync(file))
  return file
}

function isLink(file: string): boolean {
  try {
    return lstatSync(file).isSymbolicLink()
  } catch {
    return false
  }
}

/** Hashes of keys are in it: for its owner only. SQLite gives its log the mode of the file. */
export function createFile(file: string): void {
  createFolderOf(file)
  if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600))
}

export function createFolderOf(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
}

/** SQLite writes on into a file that was moved or deleted, which the next start does not find. */
export class FileGuard {
  readonly #database: DatabaseSync
  readonly #path: string
  readonly #opened: string | null

  constructor(database: DatabaseSync, path: string) {
    this.#database = database
    this.#path = resolve(path)
    this.#opened = inodeOf(this.#path)
  }

  /** @throws StoreUnavailable if another file, or none, is at the path: a restart would lose writes */
  check(): void {
    if (inodeOf(this.#path) !== this.#opened) throw new StoreUnavailable(FILE_LOST, undefined, true)
  }

  /** Empties the log of a file that was moved: to SQLite it is that of the next file at the path. */
  close(): void {
    try {
      this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    } catch {
      // The log stays, as after a crash.
    }
    this.#database.close()
  }
}

const FILE_LOST =
  'the database file was moved, replaced or deleted while it was open; put it back, or restart the service'

function inodeOf(file: string): string | null {
  try {
    const { dev, ino } = statSync(file, { bigint: true })
    return `${dev}:${ino}`
  } catch {
    return null
  }
}
