import { z } from 'zod'
import { version } from '../../config/version.ts'
import { lazy } from '../lazy.ts'
import type { Route } from '../route.ts'
import { type OpenApiDocument, openApiDocument } from './openapi.ts'
import { DOCS_POLICY, renderHtml } from './render.ts'

/** Paths of the deployed protocol, with the same page as `/docs`. */
const OTHER_PATHS = ['/docs/oauth2-redirect', '/redoc']

export function docsRoutes(routes: readonly Route[]): Route[] {
  const document = lazy((): OpenApiDocument => describeRoutes([...routes, openApi, docs]))
  const json = lazy(() => JSON.stringify(document()))
  const html = lazy(() => renderHtml(document()))
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
    path: '/docs',
    gate: 'none',
    summary: 'This interface as a page',
    responses: { 200: { description: 'The page', schema: z.string(), type: 'text/html' } },
    handle: () => ({
      body: html(),
      type: 'text/html; charset=utf-8',
      headers: { 'Content-Security-Policy': DOCS_POLICY },
    }),
  }
  return [openApi, docs, ...OTHER_PATHS.map((path) => ({ ...docs, path, isUnlisted: true }))]
}

export const describeRoutes = (routes: readonly Route[]): OpenApiDocument =>
  openApiDocument(
    routes.filter(({ isUnlisted }) => isUnlisted !== true),
    version(),
  )
