import type { Select } from '../domain/source/selection.ts'
import type { WriteContext } from '../registry/write/checked-write.ts'
import { DOCS } from './docs/page.ts'
import { docsRoutes } from './docs/routes.ts'
import { lazy } from './lazy.ts'
import type { Route } from './route.ts'
import { type ApiKeyOptions, apiKeyRoutes } from './routes/api-keys.ts'
import { facetRoutes } from './routes/facets.ts'
import { filterSpecRoutes } from './routes/filter-spec.ts'
import { healthRoutes } from './routes/health.ts'
import { localListingRoutes, publishingRoutes } from './routes/listings.ts'
import { type McpHandler, mcpRoutes } from './routes/mcp.ts'
import { type Gateway, mergedListingRoutes } from './routes/merged-listings.ts'
import { type MetricsOptions, metricsRoutes } from './routes/metrics.ts'
import { publisherRoutes } from './routes/publishers.ts'
import { type ReadFleet, type Reload, replicaRoutes } from './routes/replicas.ts'
import { sourceRoutes } from './routes/sources.ts'
import { tokenRoutes } from './routes/tokens.ts'
import { PAGES } from './web/pages.ts'
import { webRoutes } from './web/routes.ts'
import { loadSite } from './web/site.ts'

type RouteOptions = Omit<MetricsOptions, 'sources'> &
  ApiKeyOptions & {
    gateway: Gateway
    /** Otherwise only the protocol's members are answered. */
    isGateway: boolean
    /** `null` for a pure gateway. */
    registry: WriteContext | null
    /** Of the local Registry. */
    select?: Select | undefined
    mcp: McpHandler
    readFleet: ReadFleet
    reload: Reload
    store: WriteContext['store']
    isReady: () => boolean
  }

/** One line a resource; gate, problems and documentation follow from its routes. */
export function createRoutes(options: RouteOptions): Route[] {
  const { gateway, isGateway, registry, select, mcp } = options
  const { spec, tokens, sources, vocabulary } = gateway
  const replica = registry?.replica
  const site = lazy(() => loadSite([...PAGES, DOCS]))
  const routes = [
    isGateway && mergedListingRoutes(gateway),
    !isGateway && replica && select && localListingRoutes({ spec, replica, select, tokens }),
    publishingRoutes(registry),
    replica && publisherRoutes(replica),
    isGateway && sourceRoutes(gateway),
    facetRoutes(gateway),
    tokenRoutes(tokens),
    filterSpecRoutes(vocabulary),
    mcpRoutes(mcp),
    apiKeyRoutes(options),
    replicaRoutes(options),
    healthRoutes(options),
    metricsRoutes({ ...options, sources }),
    webRoutes(site),
  ].flatMap((one) => one || [])
  return [...routes, ...docsRoutes(routes, site, spec.listingShape)]
}
