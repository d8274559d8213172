import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { storeUnavailable } from './failures.ts'

/** The check throws `unavailable` if another file, or none, is at `path`: a restart would lose writes. */
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

function inodeOf(file: string): string | null {
  try {
    const { dev, ino } = statSync(file, { bigint: true })
    return `${dev}:${ino}`
  } catch {
    return null
  }
}
