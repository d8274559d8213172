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

/** `null` without a file. */
export function inodeOf(file: string): string | null {
  try {
    const { dev, ino } = statSync(file, { bigint: true })
    return `${dev}:${ino}`
  } catch {
    return null
  }
}
