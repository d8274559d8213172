import { lazy } from '../domain/lazy.ts'
import type { Audit } from '../registry/audit.ts'
import type { Blocks } from '../registry/blocks.ts'
import type { WriteContext } from '../registry/write/lines.ts'
import { DOCS } from './docs/page.ts'
import { docsRoutes } from './docs/routes.ts'
import type { Route } from './route.ts'
import { type ApiKeyOptions, apiKeyRoutes } from './routes/api-keys.ts'
import { auditRoutes } from './routes/audit.ts'
import { blockRoutes } from './routes/blocks.ts'
import { changeRoutes, type Watching } from './routes/changes.ts'
import { facetRoutes } from './routes/facets.ts'
import { filterSpecRoutes } from './routes/filter-spec.ts'
import { healthRoutes } from './routes/health.ts'
import { type Gateway, mergedListingRoutes, plainListingRoutes } from './routes/listings.ts'
import { type McpHandler, mcpRoutes } from './routes/mcp.ts'
import { type MetricsOptions, metricsRoutes } from './routes/metrics.ts'
import { publisherRoutes } from './routes/publishers.ts'
import { publishingRoutes } from './routes/publishing.ts'
import { type ReadFleet, type Reload, replicaRoutes } from './routes/replicas.ts'
import { sourceRoutes } from './routes/sources.ts'
import { tokenRoutes } from './routes/tokens.ts'
import { vocabularyRoutes } from './routes/vocabulary.ts'
import { PAGES } from './web/pages.ts'
import { webRoutes } from './web/routes.ts'
import { loadSite } from './web/site.ts'

type RouteOptions = Omit<MetricsOptions, 'sources' | 'anonymous'> &
  Omit<ApiKeyOptions, 'views'> & {
    gateway: Gateway
    /** `null` for a pure gateway. */
    registry: WriteContext | null
    watching: Watching
    audit: Audit
    blocks: Blocks
    mcp: McpHandler
    readFleet: ReadFleet
    reload: Reload
    store: WriteContext['store']
    isReady: () => boolean
    answersWithoutStore: boolean
  }

/** One line a resource; gate, problems and documentation follow from its routes. */
export function createRoutes(options: RouteOptions): Route[] {
  const { gateway, registry, mcp } = options
  const { market, readers, spec, sources } = gateway
  const replica = registry?.replica
  // A Registry without upstreams answers with the protocol's members only.
  const plain = sources.length === 1 ? replica : undefined
  const site = lazy(() => loadSite([...PAGES, DOCS]))
  const routes = [
    plain ? plainListingRoutes(gateway, plain) : mergedListingRoutes(gateway),
    changeRoutes(gateway, plain !== undefined, options.watching),
    publishingRoutes(registry),
    registry && publisherRoutes(registry.replica, market),
    !plain && sourceRoutes(gateway),
    facetRoutes(gateway),
    vocabularyRoutes(gateway),
    tokenRoutes(market.tokens),
    filterSpecRoutes(market),
    mcpRoutes(mcp),
    blockRoutes(
      options.blocks,
      sources.map(({ status }) => status().name),
    ),
    auditRoutes(options.audit),
    apiKeyRoutes({ ...options, views: readers.views }),
    replicaRoutes(options),
    healthRoutes(options),
    metricsRoutes({ ...options, sources, anonymous: readers.anonymous }),
    webRoutes(site),
  ].flatMap((one) => one || [])
  return [...routes, ...docsRoutes(routes, site, spec.listingShape)]
}
