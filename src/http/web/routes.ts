import { z } from 'zod'
import { lazy } from '../../domain/lazy.ts'
import { EntrepotError } from '../../errors.ts'
import { prefersToJson } from '../middleware/accept.ts'
import { NOT_MODIFIED } from '../parameters.ts'
import type { HandlerResponse, Route } from '../route.ts'
import { PAGES, type Page, renderShell } from './pages.ts'
import type { Site } from './site.ts'

type ReadSite = () => Promise<Site>

export const webRoutes = (site: ReadSite): Route[] => [
  ...PAGES.map((page) => pageRoute(page, site)),
  ADMIN,
  assetRoute(site),
]

/** Only for an `Accept` that names HTML (RFC 9110 section 12.1). Programs are led from the board to the listings, and get a 404 else. */
function pageRoute(page: Page, site: ReadSite): Route {
  const { path, summary } = page
  const shell = lazy(async () => {
    const { headers, ...content } = (await site()).render(page, renderShell(page))
    return { ...content, headers: { ...VARY_ACCEPT, ...headers } }
  })
  return {
    method: 'GET',
    path,
    gate: 'none',
    summary,
    description:
      'Only if `Accept` prefers `text/html`. The page contains no data: its script requests the other routes.' +
      (path === '/' ? ' Programs are led to `GET /listings` with the same query.' : ''),
    responses: {
      200: { description: 'The page', schema: z.string(), type: 'text/html' },
      304: NOT_MODIFIED,
      ...(path === '/'
        ? { 303: { description: 'The listings of the same query', schema: z.object({ detail: z.string() }) } }
        : { 308: { description: 'The path without the trailing slash' } }),
    },
    problems: path === '/' ? [] : [404],
    handle: async (request) => {
      if (!prefersToJson('text/html', request.listHeader('accept'))) {
        if (path === '/') return listingsOf(request.queryString)
        throw new EntrepotError('not_found', PAGE_ONLY, { headers: VARY_ACCEPT })
      }
      // The page's relative URLs would resolve below it (RFC 3986 section 5.2).
      if (path !== '/' && request.path.endsWith('/'))
        return { status: 308, headers: { ...VARY_ACCEPT, Location: `..${path}` } }
      return shell()
    },
  }
}

/** An agent that fetches the address of the board, or a person with curl. */
function listingsOf(query: string): HandlerResponse {
  const parameters = String(new URLSearchParams(query))
  const address = parameters === '' ? 'listings' : `listings?${parameters}`
  const detail = `This address is a page for browsers. Programs ask GET /${address}; /openapi.json has all routes, and POST /mcp has tools for agents.`
  return {
    status: 303,
    headers: { ...VARY_ACCEPT, Location: address },
    body: Buffer.from(`${JSON.stringify({ detail })}\n`),
  }
}

const PAGE_ONLY = 'This is a page: open it in a browser'

/** Operators guess the address from the routes below it. */
const ADMIN: Route = {
  method: 'GET',
  path: '/admin',
  gate: 'none',
  summary: 'The page of the operator',
  responses: { 308: { description: 'The page of the operator' } },
  isUnlisted: true,
  handle: ({ path }) => ({
    status: 308,
    headers: { Location: path.endsWith('/') ? '../operator' : 'operator' },
  }),
}

const VARY_ACCEPT = { Vary: 'Accept' }

const assetRoute = (site: ReadSite): Route => ({
  method: 'GET',
  path: '/assets/*file',
  gate: 'none',
  summary: 'Files of the pages',
  responses: { 200: { description: 'The file' }, 304: NOT_MODIFIED },
  problems: [404],
  isUnlisted: true,
  handle: async (request) => {
    const { assets, files } = await site()
    const version = `/${assets}/`
    const asset = request.path.startsWith(version) ? files.get(request.path.slice(version.length)) : undefined
    if (asset === undefined) throw new EntrepotError('not_found', 'Not Found')
    return asset
  },
})
