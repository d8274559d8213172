import { createHash } from 'node:crypto'
import { type Asset, createAsset, importMap, readLibraries } from './assets.ts'
import { moduleGraph, readPlain } from './module-graph.ts'
import { ICON, type Page, pagePolicy, renderPage } from './pages.ts'

export type Site = {
  /** `page` has to be one of those that were loaded. */
  render: (page: Page, body: string) => Promise<Asset>
  /** `Content-Security-Policy` of the pages. */
  policy: string
  /** Folder of the files, relative to the root: `assets/` and the version, a hash of all files. */
  assets: string
  /** By path below the folder. No other path is served. */
  files: ReadonlyMap<string, Asset>
}

/** Reads everything that browsers load, once. */
export async function loadSite(pages: readonly Page[]): Promise<Site> {
  const files = await readLibraries()
  const add = async (path: string, read: () => string | Promise<string>): Promise<void> => {
    if (!files.has(path)) files.set(path, await createAsset(path, await read()))
  }
  await add(ICON, () => readPlain(ICON))
  const scriptsOf = new Map<Page, string[]>()
  for (const page of pages) {
    const { modules, libraries } = await moduleGraph(page.entry)
    for (const [path, text] of modules) await add(path, () => text)
    for (const path of page.styles) await add(path, () => readPlain(path))
    scriptsOf.set(page, [...libraries, ...[...modules.keys()].reverse()])
  }
  const assets = `assets/${versionOf(files)}`
  const imports = importMap(assets)
  const render = (page: Page, body: string): Promise<Asset> =>
    createAsset('.html', renderPage(page, body, { assets, imports, scripts: scriptsOf.get(page)! }))
  return { render, policy: pagePolicy(imports), assets, files }
}

function versionOf(files: ReadonlyMap<string, Asset>): string {
  const hash = createHash('sha256')
  for (const [path, { etag }] of [...files].sort(([a], [b]) => (a < b ? -1 : 1)))
    hash.update(`${path} ${etag}\n`)
  return hash.digest('base64url').slice(0, VERSION_LENGTH)
}

const VERSION_LENGTH = 12
