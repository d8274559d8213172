import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { LIBRARY_FILES } from './libraries.ts'

/** A file as it goes out. */
export type Asset = { type: string; body: Buffer; gzipped: Buffer; etag: string }

/** @param path tells the type */
export const assetOf = (path: string, text: string): Asset => {
  const body = Buffer.from(text)
  return {
    type: TYPES[path.slice(path.lastIndexOf('.'))] ?? 'text/plain; charset=utf-8',
    body,
    gzipped: gzipSync(body),
    etag: createHash('sha256').update(body).digest('base64url').slice(0, ETAG_LENGTH),
  }
}

const ETAG_LENGTH = 22
const SCRIPT = 'text/javascript; charset=utf-8'
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.ts': SCRIPT,
  '.js': SCRIPT,
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** The files of the libraries, without the addresses of source maps, which are not served. */
export const readLibraries = (): Map<string, Asset> =>
  new Map(
    [...LIBRARY_FILES].map(([path, url]) => {
      const text = readFileSync(url, 'utf8').replace(/\n\/\/# sourceMappingURL=\S+\s*$/, '\n')
      return [path, assetOf(path, text)]
    }),
  )
