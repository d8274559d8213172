import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import type { HandlerResponse } from '../route.ts'
import { LIBRARIES, moduleGraph, readPlain } from './module-graph.ts'
import { ICON, type Page, pagePolicy, renderPage } from './pages.ts'

export type Site = {
  /** `page` has to be one of those that were loaded. */
  render: (page: Page, body: string) => FileResponse
  /** Folder of the files, relative to the root: `assets/` and the version, a hash of all files. */
  assets: string
  /** By path below the folder. No other path is served. */
  files: ReadonlyMap<string, FileResponse>
}

type FileResponse = HandlerResponse & { headers: { ETag: string } }

/** For a year (RFC 8246): another version has another path. */
const IMMUTABLE = { 'Cache-Control': 'public, max-age=31536000, immutable' }

/** Of pages from other origins' windows and frames; the last prevents DNS lookups of sellers' hosts. */
const ISOLATION = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Origin-Agent-Cluster': '?1',
  'X-Frame-Options': 'DENY',
  'X-DNS-Prefetch-Control': 'off',
}

/** Reads everything that browsers load, once. */
export async function loadSite(pages: readonly Page[]): Promise<Site> {
  const files = new Map<string, FileResponse>()
  const add = async (path: string, read: () => string | Promise<string>): Promise<void> => {
    if (!files.has(path)) files.set(path, fileResponse(path, await read(), IMMUTABLE))
  }
  for (const [name, path] of LIBRARIES) await add(path, () => readLibrary(name))
  await add(ICON, () => readPlain(ICON))
  const scriptsOf = new Map<Page, string[]>()
  for (const page of pages) {
    const { modules, libraries } = await moduleGraph(page.entry)
    for (const [path, text] of modules) await add(path, () => text)
    for (const path of page.styles) await add(path, () => readPlain(path))
    scriptsOf.set(page, [...libraries, ...[...modules.keys()].reverse()])
  }
  const assets = `assets/${versionOf(files)}`
  // Addresses are relative to the page (HTML standard, section 8.1.6.2).
  const addresses = Array.from(LIBRARIES, ([name, path]) => [name, `./${assets}/${path}`])
  const imports = JSON.stringify({ imports: Object.fromEntries(addresses) })
  // A page and its files are of one version.
  const headers = {
    ...ISOLATION,
    'Content-Security-Policy': pagePolicy(imports),
    'Cache-Control': 'no-cache',
  }
  const render: Site['render'] = (page, body) =>
    fileResponse(
      `${page.entry}.html`,
      renderPage(page, body, { assets, imports, scripts: scriptsOf.get(page)! }),
      headers,
    )
  return { render, assets, files }
}

/** Without the URL of a source map, which is not served. */
async function readLibrary(name: string): Promise<string> {
  const text = await readFile(new URL(import.meta.resolve(name)), 'utf8')
  return text.replace(/\n\/\/# sourceMappingURL=\S+\s*$/, '\n')
}

function fileResponse(path: string, text: string, headers: Readonly<Record<string, string>>): FileResponse {
  const body = Buffer.from(text)
  const etag = createHash('sha256').update(body).digest('base64url').slice(0, ETAG_LENGTH)
  return {
    type: TYPES[extname(path)] ?? 'text/plain; charset=utf-8',
    body,
    headers: { ...headers, ETag: `W/"${etag}"` },
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

function versionOf(files: ReadonlyMap<string, FileResponse>): string {
  const hash = createHash('sha256')
  for (const [path, { headers }] of [...files].sort(([a], [b]) => (a < b ? -1 : 1)))
    hash.update(`${path} ${headers.ETag}\n`)
  return hash.digest('base64url').slice(0, VERSION_LENGTH)
}

const VERSION_LENGTH = 12
