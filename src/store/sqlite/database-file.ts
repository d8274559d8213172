import {
  closeSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { StoreUnavailable } from '../store.ts'

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

const LOG = ['-wal', '-shm'] as const

/** SQLite writes on into files that were moved or deleted, which the next start does not find. */
export class FileGuard {
  readonly #database: DatabaseSync
  readonly #path: string
  readonly #file: string
  readonly #opened: ReadonlyMap<string, string | null>
  #isLogSaved = false

  /** Of a database that was read, so that it has a log. */
  constructor(database: DatabaseSync, path: string) {
    this.#database = database
    this.#path = resolve(path)
    this.#file = databaseFile(path)
    const files = [this.#path, ...LOG.map((end) => this.#file + end)]
    this.#opened = new Map(files.map((file) => [file, inodeOf(file)]))
  }

  /** @throws StoreUnavailable if another file, or none, is at a path: a restart would lose writes */
  check(): void {
    if (!this.#isInPlace(this.#path)) throw new StoreUnavailable(FILE_LOST)
    if (!this.#hasLog) {
      this.#saveLog()
      throw new StoreUnavailable(LOG_LOST)
    }
    this.#isLogSaved = false
  }

  /** Empties the log of a file that was moved: to SQLite it is that of the next file at the path. */
  close(): void {
    if (!this.#hasLog) {
      this.#closeKeepingLog()
      return
    }
    try {
      this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    } catch {
      // The log stays, as after a crash.
    }
    this.#database.close()
  }

  get #hasLog(): boolean {
    return LOG.every((end) => this.#isInPlace(this.#file + end))
  }

  #isInPlace(file: string): boolean {
    return inodeOf(file) === this.#opened.get(file)
  }

  /** Copies acknowledged writes from the lost log to the file, unless another process has begun a log without them. */
  #saveLog(): void {
    const log = `${this.#file}-wal`
    if (this.#isLogSaved || !(this.#isInPlace(log) || inodeOf(log) === null)) return
    try {
      this.#isLogSaved = this.#database.prepare('PRAGMA wal_checkpoint(FULL)').get()?.busy === 0
    } catch {
      // The next check tries again.
    }
  }

  /** SQLite deletes the log at the path, which may have the writes of another process. */
  #closeKeepingLog(): void {
    const log = `${this.#file}-wal`
    const kept = `${log}.kept`
    rmSync(kept, { force: true })
    if (existsSync(log)) linkSync(log, kept)
    this.#database.close()
    if (existsSync(kept)) renameSync(kept, log)
  }
}

const FILE_LOST =
  'the database file was moved, replaced or deleted while it was open; put it back, or restart the service'
const LOG_LOST =
  'the log of the database file (-wal, -shm) was moved, replaced or deleted while it was open; restart the service'

function inodeOf(file: string): string | null {
  try {
    const { dev, ino } = statSync(file, { bigint: true })
    return `${dev}:${ino}`
  } catch {
    return null
  }
}
