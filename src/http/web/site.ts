import { type Asset, assetOf, readLibraries } from './assets.ts'
import { moduleGraph, readPlain } from './module-graph.ts'
import { type Page, renderPage } from './page.ts'

/** Everything that a browser may be given. */
export type Site = {
  /** By the route of the page. */
  pages: ReadonlyMap<string, Asset>
  /** By path below `assets/`. The one list: any other path is nothing, whatever it looks like. */
  files: ReadonlyMap<string, Asset>
}

/** Reads the pages and all that they load. */
export const readSite = (pages: readonly Page[], plain: readonly string[]): Site => {
  const files = readLibraries()
  for (const path of plain) files.set(path, assetOf(path, readPlain(path)))
  const shells = pages.map((page): [string, Asset] => {
    const modules = moduleGraph(page.entry)
    for (const [path, text] of modules) files.set(path, assetOf(path, text))
    for (const path of page.styles) files.set(path, files.get(path) ?? assetOf(path, readPlain(path)))
    return [page.path, assetOf('.html', renderPage(page, [...modules.keys()]))]
  })
  return { pages: new Map(shells), files }
}
