import { EntrepotError } from '../errors.ts'
import type { FilterSpec } from '../filter-spec/filter.ts'
import { ownVocabulary } from '../gateway/vocabulary.ts'
import type { ApiKeys } from '../registry/api-keys.ts'
import type { Publishing } from '../registry/publish.ts'
import { listKeys, mintKey, revokeKey } from './admin-keys.ts'
import { type AgentsDoor, postMcp } from './agents.ts'
import { docsRoutes } from './docs-routes.ts'
import { getFilterSpec } from './filter-spec.ts'
import { getHealth, getLive } from './health.ts'
import { getListing, listLocalListings } from './listing-reads.ts'
import { deleteListing, postListing, putListing, validatePublish } from './listing-writes.ts'
import { getMergedListing, type MergedListing } from './merged-listing.ts'
import { listMergedListings, type MergedListings } from './merged-listings.ts'
import { getMetrics, type MetricsOptions } from './metrics.ts'
import { getPublisher, listPublishers } from './publishers.ts'
import { getReady } from './ready.ts'
import type { Route } from './route.ts'
import { listSourceDetails, listSources, refreshSource, type SourceBook } from './sources.ts'
import { getStats } from './stats.ts'
import { webRoutes } from './web/routes.ts'

export type Service = Omit<MetricsOptions, 'gateway'> & {
  spec: FilterSpec
  /** `null` for a pure gateway. */
  registry: Publishing | null
  keys: ApiKeys
  /** `null` for a plain Registry. */
  gateway: (Omit<MergedListings, 'spec'> & MergedListing & SourceBook) | null
  agents: AgentsDoor
  store: Publishing['store']
  areTried: () => boolean
}

export function createRoutes(service: Service): Route[] {
  const { spec, keys, gateway, store } = service
  const routes = [
    ...listingRoutes(service),
    ...(gateway === null ? [] : [listSources(gateway), listSourceDetails(gateway), refreshSource(gateway)]),
    getFilterSpec(gateway?.vocabulary ?? ownVocabulary(spec)),
    postMcp(service.agents),
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

function listingRoutes({ spec, registry, gateway }: Service): Route[] {
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
  answers: {},
  refusals: [404],
  handle: () => {
    throw new EntrepotError(
      'not_found',
      'This gateway has no Registry of its own; publish to one of the Registries behind it',
    )
  },
}
