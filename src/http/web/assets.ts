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
  const read = async ([path, url]: [string, URL]): Promise<[string, Asset]> => {
    const text = (await readFile(url, 'utf8')).replace(/\n\/\/# sourceMappingURL=\S+\s*$/, '\n')
    return [path, await createAsset(path, text)]
  }
  return new Map(await Promise.all([...LIBRARY_FILES].map(read)))
}

const MODULES: Readonly<Record<string, string>> = {
  preact: 'preact',
  'preact/hooks': 'preact/hooks',
  htm: 'htm',
  // The package names only its CommonJS build.
  uplot: 'uplot/dist/uPlot.esm.js',
}

export const UPLOT_STYLE = 'libraries/uplot.css'

const LIBRARY_FILES: ReadonlyMap<string, URL> = new Map([
  ...Object.entries(MODULES).map(([name, module]) => [pathOf(name), resolve(module)] as const),
  [UPLOT_STYLE, resolve('uplot/dist/uPlot.min.css')],
])

/** JSON; addresses are relative to the page (HTML standard, section 8.1.6.2). */
export const importMap = (assets: string): string =>
  JSON.stringify({
    imports: Object.fromEntries(Object.keys(MODULES).map((name) => [name, `./${assets}/${pathOf(name)}`])),
  })

/** Below `assets/`; `null` for a specifier that is no library of the pages. */
export const libraryPath = (specifier: string): string | null =>
  Object.hasOwn(MODULES, specifier) ? pathOf(specifier) : null

function pathOf(name: string): string {
  return `libraries/${name.replace('/', '-')}.js`
}

function resolve(module: string): URL {
  return new URL(import.meta.resolve(module))
}
