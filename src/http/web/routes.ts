import { z } from 'zod'
import { EntrepotError } from '../../errors.ts'
import { lazy } from '../lazy.ts'
import { wantsHtml } from '../middleware/accept.ts'
import { NOT_MODIFIED } from '../parameters.ts'
import type { HandlerResponse, Route } from '../route.ts'
import { type Asset, createAsset, readLibraries } from './assets.ts'
import { moduleGraph, readPlain } from './module-graph.ts'
import { ICON, PAGE_POLICY, PAGES, type Page, renderShell } from './pages.ts'

export function webRoutes(): Route[] {
  const site = lazy(() => loadSite(PAGES, [ICON]))
  return [...PAGES.map((page) => pageRoute(page, site)), assetRoute(site)]
}

/** Only for an `Accept` that names HTML (RFC 9110 section 12.1): for programs, `/` stays a 404. */
const pageRoute = ({ path, summary }: Page, site: () => Promise<Site>): Route => ({
  method: 'GET',
  path,
  gate: 'none',
  summary,
  description:
    'Only if `Accept` prefers `text/html`. The page contains no data: its script requests the other routes.',
  responses: {
    200: { description: 'The page', schema: z.string(), type: 'text/html' },
    304: NOT_MODIFIED,
    ...(path === '/' ? {} : { 308: { description: 'The path without the trailing slash' } }),
  },
  problems: [404],
  handle: async (request) => {
    const page = wantsHtml(request.listHeader('accept')) ? (await site()).pages.get(path) : undefined
    if (page === undefined) throw new EntrepotError('not_found', 'Not Found', { headers: VARY_ACCEPT })
    // The page's relative URLs would resolve below it (RFC 3986 section 5.2).
    if (path !== '/' && request.path.endsWith('/'))
      return { status: 308, headers: { ...VARY_ACCEPT, Location: `..${path}` } }
    return send(page, PAGE_HEADERS)
  },
})

const VARY_ACCEPT = { Vary: 'Accept' }

const PAGE_HEADERS = { Vary: 'Accept', 'Content-Security-Policy': PAGE_POLICY }

const assetRoute = (site: () => Promise<Site>): Route => ({
  method: 'GET',
  path: '/assets/*file',
  gate: 'none',
  summary: 'Files of the pages',
  responses: { 200: { description: 'The file' }, 304: NOT_MODIFIED },
  problems: [404],
  isUnlisted: true,
  handle: async (request) => {
    const asset = (await site()).files.get(request.params.file ?? '')
    if (asset === undefined) throw new EntrepotError('not_found', 'Not Found')
    return send(asset, {})
  },
})

/** Revalidated on every load, so that a page and its modules are of one version; mostly a 304. */
const send = ({ etag, ...content }: Asset, headers: Readonly<Record<string, string>>): HandlerResponse => ({
  ...content,
  headers: { ...headers, ETag: `W/"${etag}"`, 'Cache-Control': 'no-cache' },
})

type Site = {
  pages: ReadonlyMap<string, Asset>
  /** By path below `assets/`. No other path is served. */
  files: ReadonlyMap<string, Asset>
}

async function loadSite(pages: readonly Page[], plain: readonly string[]): Promise<Site> {
  const files = await readLibraries()
  const shells = new Map<string, Asset>()
  const add = async (path: string, read: () => string | Promise<string>): Promise<void> => {
    if (!files.has(path)) files.set(path, await createAsset(path, await read()))
  }
  for (const path of plain) await add(path, () => readPlain(path))
  for (const page of pages) {
    const modules = await moduleGraph(page.entry)
    for (const [path, text] of modules) await add(path, () => text)
    for (const path of page.styles) await add(path, () => readPlain(path))
    shells.set(page.path, await createAsset('.html', renderShell(page, [...modules.keys()])))
  }
  return { pages: shells, files }
}
