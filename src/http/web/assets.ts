import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

export type Asset = { type: string; body: Buffer; gzipped: Buffer; etag: string }

export async function createAsset(path: string, text: string): Promise<Asset> {
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
  const read = async (name: string): Promise<[string, Asset]> => {
    const path = pathOf(name)
    const text = (await readFile(new URL(import.meta.resolve(name)), 'utf8')).replace(
      /\n\/\/# sourceMappingURL=\S+\s*$/,
      '\n',
    )
    return [path, await createAsset(path, text)]
  }
  return new Map(await Promise.all(LIBRARIES.map(read)))
}

const LIBRARIES = ['preact', 'preact/hooks', 'htm']

/** JSON; addresses are relative to the page (HTML standard, section 8.1.6.2). */
export const importMap = (assets: string): string =>
  JSON.stringify({
    imports: Object.fromEntries(LIBRARIES.map((name) => [name, `./${assets}/${pathOf(name)}`])),
  })

/** Below `assets/`; `null` for a specifier that is no library of the pages. */
export const libraryPath = (specifier: string): string | null =>
  LIBRARIES.includes(specifier) ? pathOf(specifier) : null

function pathOf(name: string): string {
  return `libraries/${name.replace('/', '-')}.js`
}
