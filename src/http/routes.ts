import type { FilterSpec } from '../filter-spec/filter.ts'
import { createReadVocabulary } from '../gateway/vocabulary.ts'
import type { WriteContext } from '../registry/write/checked-write.ts'
import { DOCS } from './docs/page.ts'
import { docsRoutes } from './docs/routes.ts'
import { lazy } from './lazy.ts'
import type { Route } from './route.ts'
import { type ApiKeyOptions, apiKeyRoutes } from './routes/api-keys.ts'
import { filterSpecRoutes } from './routes/filter-spec.ts'
import { healthRoutes } from './routes/health.ts'
import { localListingRoutes, publishingRoutes } from './routes/listings.ts'
import { type McpHandler, mcpRoutes } from './routes/mcp.ts'
import { type MergedListings, mergedListingRoutes } from './routes/merged-listings.ts'
import { type MetricsOptions, metricsRoutes } from './routes/metrics.ts'
import { publisherRoutes } from './routes/publishers.ts'
import { type ReadFleet, replicaRoutes } from './routes/replicas.ts'
import { type SourceList, sourceRoutes } from './routes/sources.ts'
import { statsRoutes } from './routes/stats.ts'
import { PAGES } from './web/pages.ts'
import { webRoutes } from './web/routes.ts'
import { loadSite } from './web/site.ts'

export type RouteOptions = Omit<MetricsOptions, 'gateway'> &
  ApiKeyOptions & {
    spec: FilterSpec
    /** `null` for a pure gateway. */
    registry: WriteContext | null
    /** `null` for a plain Registry. */
    gateway: (Omit<MergedListings, 'spec'> & SourceList) | null
    mcp: McpHandler
    readFleet: ReadFleet
    store: WriteContext['store']
    isReady: () => boolean
  }

/** One line a resource; gate, problems and documentation follow from its routes. */
export function createRoutes(options: RouteOptions): Route[] {
  const { spec, registry, gateway, mcp } = options
  const replica = registry?.replica
  const site = lazy(() => loadSite([...PAGES, DOCS]))
  const routes = [
    gateway && mergedListingRoutes({ ...gateway, spec }),
    gateway === null && replica && localListingRoutes(spec, replica),
    publishingRoutes(registry),
    replica && publisherRoutes(replica),
    replica && statsRoutes(replica),
    gateway && sourceRoutes(gateway),
    filterSpecRoutes(gateway?.vocabulary ?? createReadVocabulary(spec, [])),
    mcpRoutes(mcp),
    apiKeyRoutes(options),
    replicaRoutes(options.readFleet),
    healthRoutes(options),
    metricsRoutes(options),
    webRoutes(site),
  ].flatMap((one) => one || [])
  return [...routes, ...docsRoutes(routes, site, spec.listingShape)]
}
