import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { LIBRARY_FILES } from './libraries.ts'

export type Asset = { type: string; body: Buffer; gzipped: Buffer; etag: string }

export async function assetOf(path: string, text: string): Promise<Asset> {
  const body = Buffer.from(text)
  return {
    type: TYPES[path.slice(path.lastIndexOf('.'))] ?? 'text/plain; charset=utf-8',
    body,
    gzipped: await compress(body),
    etag: createHash('sha256').update(body).digest('base64url').slice(0, ETAG_LENGTH),
  }
}

const compress = promisify(gzip)
const ETAG_LENGTH = 22
const SCRIPT = 'text/javascript; charset=utf-8'
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.ts': SCRIPT,
  '.js': SCRIPT,
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** Without the URLs of source maps, which are not served. */
export async function readLibraries(): Promise<Map<string, Asset>> {
  const read = async ([path, url]: [string, URL]): Promise<[string, Asset]> => {
    const text = (await readFile(url, 'utf8')).replace(/\n\/\/# sourceMappingURL=\S+\s*$/, '\n')
    return [path, await assetOf(path, text)]
  }
  return new Map(await Promise.all([...LIBRARY_FILES].map(read)))
}
