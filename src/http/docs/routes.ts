import { z } from 'zod'
import { lazy } from '../../domain/lazy.ts'
import { NOT_MODIFIED } from '../parameters.ts'
import type { Route } from '../route.ts'
import type { Site } from '../web/site.ts'
import { type JsonSchema, openApiDocument } from './openapi.ts'
import { DOCS, renderDocs } from './page.ts'

/** Paths of the deployed protocol, with the same page as `/docs`. */
const OTHER_PATHS = ['/docs/oauth2-redirect', '/redoc']

export function docsRoutes(
  routes: readonly Route[],
  site: () => Promise<Site>,
  listingShape: JsonSchema,
): Route[] {
  const document = lazy(() => openApiDocument([...routes, openApi, docs], listingShape))
  const json = lazy(() => JSON.stringify(document()))
  const page = lazy(async () => (await site()).render(DOCS, renderDocs(document())))
  const openApi: Route = {
    method: 'GET',
    path: '/openapi.json',
    gate: 'none',
    summary: 'This interface as an OpenAPI 3.1 document',
    responses: { 200: { description: 'The document', schema: z.looseObject({ openapi: z.string() }) } },
    handle: () => ({ body: json() }),
  }
  const docs: Route = {
    method: 'GET',
    path: DOCS.path,
    gate: 'none',
    summary: DOCS.summary,
    responses: {
      200: { description: 'The page', schema: z.string(), type: 'text/html' },
      304: NOT_MODIFIED,
      308: { description: 'The path without the trailing slash' },
    },
    handle: async ({ path }) => {
      // Addresses in the page are relative to the root.
      const depth = path.split('/').length - 2
      if (depth > 0) return { status: 308, headers: { Location: `${'../'.repeat(depth)}docs` } }
      return page()
    },
  }
  return [openApi, docs, ...OTHER_PATHS.map((path) => ({ ...docs, path, isUnlisted: true }))]
}
