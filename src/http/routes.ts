import { EntrepotError } from '../errors.ts'
import type { FilterSpec } from '../filter-spec/filter.ts'
import type { Federation } from '../gateway/fan-out.ts'
import type { ApiKeys } from '../registry/api-keys.ts'
import type { Publishing } from '../registry/publish.ts'
import { listKeys, mintKey, revokeKey } from './admin-keys.ts'
import type { Handler, Route } from './exchange.ts'
import { getFilterSpec } from './filter-spec.ts'
import { getHealth } from './health.ts'
import { deleteListing, getListing, listLocalListings, postListing, putListing } from './listings.ts'
import { listMergedListings } from './merged-listings.ts'
import { getPublisher, listPublishers } from './publishers.ts'
import { getStats } from './stats.ts'

/** What the routes answer from. */
export type Service = {
  spec: FilterSpec
  /** This service's own Registry; `null` for a pure gateway. */
  registry: Publishing | null
  keys: ApiKeys
  /** `null` where no upstream is configured: a plain Registry. */
  federation: Federation | null
  store: Publishing['store']
}

/** Every route with its gate (`protocol.md` 1.0, `contract.md` 3.2). Where there is no Registry, its routes are none. */
export const createRoutes = ({ spec, registry, keys, federation, store }: Service): Route[] => {
  const get = (path: string, gate: Route['gate'], handle: Handler): Route => ({
    method: 'GET',
    path,
    gate,
    handle,
  })
  return [
    get('/health', 'none', getHealth(store)),
    get('/filter-spec', 'read', getFilterSpec(spec)),
    ...(federation === null ? [] : [get('/listings', 'read', listMergedListings(spec, federation))]),
    ...(registry === null ? [noRegistry] : registryRoutes(spec, registry, federation === null)),
    { method: 'POST', path: '/admin/api-keys', gate: 'admin', handle: mintKey(keys) },
    get('/admin/api-keys', 'admin', listKeys(keys)),
    { method: 'DELETE', path: '/admin/api-keys/:key_id', gate: 'admin', handle: revokeKey(keys) },
  ]
}

const registryRoutes = (spec: FilterSpec, registry: Publishing, isPlain: boolean): Route[] => [
  ...(isPlain
    ? [
        {
          method: 'GET',
          path: '/listings',
          gate: 'read',
          handle: listLocalListings(spec, registry.replica),
        } as const,
      ]
    : []),
  { method: 'POST', path: '/listings', gate: 'write', handle: postListing(registry) },
  { method: 'GET', path: '/listings/:id', gate: 'read', handle: getListing(registry.replica) },
  { method: 'PUT', path: '/listings/:id', gate: 'write', handle: putListing(registry) },
  { method: 'DELETE', path: '/listings/:id', gate: 'write', handle: deleteListing(registry) },
  { method: 'GET', path: '/publishers', gate: 'read', handle: listPublishers(registry.replica) },
  { method: 'GET', path: '/publishers/:publisher_id', gate: 'read', handle: getPublisher(registry.replica) },
  { method: 'GET', path: '/api/v1/system/stats', gate: 'read', handle: getStats(registry.replica) },
]

/** A pure gateway takes no listings, and says so rather than 405 (`contract.md` 2, `registry.enabled`). */
const noRegistry: Route = {
  method: 'POST',
  path: '/listings',
  gate: 'none',
  handle: () => {
    throw new EntrepotError(
      'not_found',
      'This gateway has no Registry of its own; publish to one of the Registries behind it',
    )
  },
}
