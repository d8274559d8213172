import { type Asset, assetOf, readLibraries } from './assets.ts'
import { moduleGraph, readPlain } from './module-graph.ts'
import { type Page, renderPage } from './page.ts'

export type Site = {
  pages: ReadonlyMap<string, Asset>
  /** By path below `assets/`. No other path is served. */
  files: ReadonlyMap<string, Asset>
}

export async function readSite(pages: readonly Page[], plain: readonly string[]): Promise<Site> {
  const files = await readLibraries()
  const shells = new Map<string, Asset>()
  const add = async (path: string, read: () => string | Promise<string>): Promise<void> => {
    if (!files.has(path)) files.set(path, await assetOf(path, await read()))
  }
  for (const path of plain) await add(path, () => readPlain(path))
  for (const page of pages) {
    const modules = await moduleGraph(page.entry)
    for (const [path, text] of modules) await add(path, () => text)
    for (const path of page.styles) await add(path, () => readPlain(path))
    shells.set(page.path, await assetOf('.html', renderPage(page, [...modules.keys()])))
  }
  return { pages: shells, files }
}
