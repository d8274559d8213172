import { EntrepotError } from '../errors.ts'
import type { FilterSpec } from '../filter-spec/filter.ts'
import { readOwnVocabulary } from '../gateway/vocabulary.ts'
import type { ApiKeys } from '../registry/api-keys.ts'
import type { WriteContext } from '../registry/write/checked-write.ts'
import { docsRoutes } from './docs/routes.ts'
import { getMetrics, type MetricsOptions } from './metrics/metrics.ts'
import type { Route } from './route.ts'
import { listKeys, mintKey, revokeKey } from './routes/api-keys.ts'
import { getFilterSpec } from './routes/filter-spec.ts'
import { getHealth, getLive, getReady } from './routes/health.ts'
import {
  deleteListing,
  getListing,
  listLocalListings,
  postListing,
  putListing,
  validatePublish,
} from './routes/listings.ts'
import { type McpHandler, postMcp } from './routes/mcp.ts'
import {
  getMergedListing,
  listMergedListings,
  type MergedListing,
  type MergedListings,
} from './routes/merged-listings.ts'
import { getPublisher, listPublishers } from './routes/publishers.ts'
import { listSourceDetails, listSources, refreshSource, type SourceList } from './routes/sources.ts'
import { getStats } from './routes/stats.ts'
import { webRoutes } from './web/routes.ts'

export type RouteOptions = Omit<MetricsOptions, 'gateway'> & {
  spec: FilterSpec
  /** `null` for a pure gateway. */
  registry: WriteContext | null
  keys: ApiKeys
  /** `null` for a plain Registry. */
  gateway: (Omit<MergedListings, 'spec'> & MergedListing & SourceList) | null
  mcp: McpHandler
  store: WriteContext['store']
  isReady: () => boolean
}

export function createRoutes(service: RouteOptions): Route[] {
  const { spec, keys, gateway, store } = service
  const routes = [
    ...listingRoutes(service),
    ...(gateway === null ? [] : [listSources(gateway), listSourceDetails(gateway), refreshSource(gateway)]),
    getFilterSpec(gateway?.vocabulary ?? readOwnVocabulary(spec)),
    postMcp(service.mcp),
    mintKey(keys),
    listKeys(keys),
    revokeKey(keys),
    getLive(),
    getHealth(store),
    getReady(service),
    getMetrics(service),
    ...webRoutes(),
  ]
  return [...routes, ...docsRoutes(routes)]
}

function listingRoutes({ spec, registry, gateway }: RouteOptions): Route[] {
  const merged = gateway === null ? [] : [listMergedListings({ ...gateway, spec }), getMergedListing(gateway)]
  if (registry === null) return [...merged, NO_REGISTRY]
  const { replica } = registry
  return [
    ...(gateway === null ? [listLocalListings(spec, replica), getListing(replica)] : merged),
    postListing(registry),
    putListing(registry),
    deleteListing(registry),
    listPublishers(replica),
    getPublisher(replica),
    getStats(replica),
    validatePublish(registry),
  ]
}

/** 404 with a reason rather than 405. */
const NO_REGISTRY: Route = {
  method: 'POST',
  path: '/listings',
  gate: 'none',
  summary: 'Not here: this gateway has no Registry of its own',
  responses: {},
  problems: [404],
  handle: () => {
    throw new EntrepotError(
      'not_found',
      'This gateway has no Registry of its own; publish to one of the Registries behind it',
    )
  },
}
