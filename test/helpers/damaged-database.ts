import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

const HEADER_BYTES = 100

/**
 * Overwrites the header of an open SQLite file, so that every connection fails when it looks for changes. The returned
 * function restores the header; connections notice with the next commit of another one.
 */
export function damageHeader(path: string): () => void {
  const other = new DatabaseSync(path)
  other.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  other.close()
  const header = Buffer.alloc(HEADER_BYTES)
  inFile(path, (file) => readSync(file, header, 0, HEADER_BYTES, 0))
  inFile(path, (file) => writeSync(file, Buffer.alloc(HEADER_BYTES, 0xff), 0, HEADER_BYTES, 0))
  return () => inFile(path, (file) => writeSync(file, header, 0, HEADER_BYTES, 0))
}

function inFile(path: string, act: (file: number) => void): void {
  const file = openSync(path, 'r+')
  act(file)
  closeSync(file)
}
