import { createHash } from 'node:crypto'
import type { UpstreamKind } from '../domain/source/upstream.ts'
import { canonicalJson } from './etag.ts'
import {
  type Filter,
  type FilterDefinition,
  type FilterSpec,
  isSameFilter,
  listFilters,
  renderFilterSpec,
} from './filter.ts'
import { isOwnParameter } from './parameters.ts'
import type { UpstreamSpec } from './upstream-spec.ts'

export type Declaring = { name: string; kind: UpstreamKind; priority: number; spec: UpstreamSpec }

export type FederatedSpec = {
  /** Our own spec's etag where upstreams add nothing. */
  etag: string
  /** Our own first, then the others by name. */
  filters: ReadonlyMap<string, Filter>
  /** The body of `GET /filter-spec`. */
  body: string
}

/**
 * Adds upstreams' filters, but for names of own parameters: an upstream takes none. The lowest priority number defines a
 * name; `registries` are those that agree.
 */
export function federate(own: FilterSpec, upstreams: readonly Declaring[]): FederatedSpec {
  const added = addedFilters(own, upstreams)
  if (added.length === 0) return { etag: own.etag, filters: own.filters, body: renderFilterSpec(own) }
  const filters = new Map(own.filters)
  for (const { filter } of added) filters.set(filter.name, filter)
  const registries = new Map(added.map((one) => [one.filter.name, one.registries]))
  const entries = listFilters(own, [...filters.values()]).flatMap((filter) => {
    const from = registries.get(filter.name)
    return from === undefined ? [] : [{ ...filter, registries: from }]
  })
  const etag = etagOver(own.etag, entries)
  return { etag, filters, body: renderFilterSpec({ ...own, etag }, entries) }
}

type Added = { filter: Filter; registries: readonly string[] }

function addedFilters(own: FilterSpec, upstreams: readonly Declaring[]): Added[] {
  const defined = new Map<string, Filter>()
  for (const { spec } of upstreams.toSorted((a, b) => a.priority - b.priority)) {
    for (const [name, filter] of spec.filters) {
      if (!own.filters.has(name) && !isOwnParameter(name) && !defined.has(name)) defined.set(name, filter)
    }
  }
  return [...defined.values()]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((filter) => ({ filter, registries: upstreams.flatMap((upstream) => declaring(upstream, filter)) }))
}

/** Only a `kind = "gateway"` upstream is trusted with names of other Registries. */
function declaring({ name, kind, spec }: Declaring, filter: Filter): string[] {
  const declared = spec.filters.get(filter.name)
  if (declared === undefined || !isSameFilter(declared, filter)) return []
  const inner = kind === 'gateway' ? spec.registries.get(filter.name) : undefined
  return inner?.map((registry) => `${name}/${registry}`) ?? [name]
}

/** Our own etag already covers our filters. */
const etagOver = (own: string, added: readonly (FilterDefinition & Pick<Added, 'registries'>)[]): string =>
  createHash('sha256').update(canonicalJson({ own, added })).digest('hex')
