import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { storeUnavailable } from './failures.ts'

/**
 * Gives a check of the file that is at `path` now. The check throws `unavailable` while another file, or none, is at
 * the path: what is written to the open file then would be lost at the next start.
 */
export function fileCheck(path: string): () => void {
  const file = resolve(path)
  const opened = inodeOf(file)
  return () => {
    if (inodeOf(file) !== opened)
      throw storeUnavailable(
        'the database file was moved, replaced or deleted while it was open; put it back, or restart the service',
      )
  }
}

/** Device and inode; `null` where there is no file or its directory cannot be read. */
function inodeOf(file: string): string | null {
  try {
    const { dev, ino } = statSync(file, { bigint: true })
    return `${dev}:${ino}`
  } catch {
    return null
  }
}
