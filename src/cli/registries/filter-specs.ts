import { SourceError } from '../../domain/source/source-error.ts'
import type { Criterion } from '../../filter-spec/criteria.ts'
import type { Filter } from '../../filter-spec/filter.ts'
import { filterNameOf, parseCriteria, refuseUnknownFilter } from '../../filter-spec/parameters.ts'
import type { UpstreamSpec } from '../../filter-spec/upstream-spec.ts'
import { describeErrorResponse, getEndpoint, isUnauthorized, type RegistryClient } from './registry-client.ts'
import type { Registry } from './select-registries.ts'

/** Empty for a Registry without `GET /filter-spec`. @throws SourceError */
export async function fetchFilterSpec(
  client: RegistryClient,
  registry: Registry,
  timeoutMs: number,
): Promise<UpstreamSpec> {
  const [response, { readUpstreamSpec }] = await Promise.all([
    getEndpoint(client, registry, '/filter-spec', timeoutMs),
    import('../../filter-spec/upstream-spec.ts'),
  ])
  if (response.status === 404) return NO_FILTERS
  if (response.status !== 200) {
    const reason = isUnauthorized(response) ? 'unauthorized' : (`http_${response.status}` as const)
    throw new SourceError(reason, `${registry.url}: ${describeErrorResponse(response)}`)
  }
  try {
    return readUpstreamSpec(response.body)
  } catch (cause) {
    throw new SourceError('bad_envelope', `${registry.url}: ${(cause as Error).message}`, { cause })
  }
}

const NO_FILTERS: UpstreamSpec = {
  etag: null,
  schemaId: null,
  filters: new Map(),
  registries: new Map(),
  allowed: new Map(),
}

/** Of every Registry, at once. A failure is reported by the source that it belongs to, perhaps later. */
export function fetchFilterSpecs(
  client: RegistryClient,
  registries: readonly Registry[],
  timeoutMs: number,
): readonly Promise<UpstreamSpec>[] {
  const specs = registries.map((registry) => fetchFilterSpec(client, registry, timeoutMs))
  for (const spec of specs) spec.catch(() => {})
  return specs
}

/** Of all Registries that answer: the first definition of each name. `null` where none answers. */
export async function allFilters(
  specs: readonly Promise<UpstreamSpec>[],
): Promise<ReadonlyMap<string, Filter> | null> {
  const settled = await Promise.allSettled(specs)
  const answered = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  const filters = new Map<string, Filter>()
  for (const spec of answered)
    for (const [name, filter] of spec.filters) if (!filters.has(name)) filters.set(name, filter)
  return answered.length === 0 ? null : filters
}

/**
 * Uses a Registry's own definition of a filter, or else that of the first other Registry with it.
 * @throws EntrepotError `bad_request` for an unknown filter or an invalid value
 */
export async function criteriaFor(
  own: UpstreamSpec,
  others: readonly Promise<UpstreamSpec>[],
  pairs: readonly (readonly [name: string, value: string])[],
): Promise<Criterion[]> {
  const filters = new Map<string, Filter>()
  for (const name of new Set(pairs.map(([name]) => filterNameOf(name)))) {
    const filter = own.filters.get(name) ?? (await definitionOf(name, others))
    filters.set(name, filter)
  }
  return parseCriteria({ filters }, pairs)
}

async function definitionOf(name: string, specs: readonly Promise<UpstreamSpec>[]): Promise<Filter> {
  const known = (await allFilters(specs)) ?? new Map<string, Filter>()
  const filter = known.get(name)
  if (filter !== undefined) return filter
  return refuseUnknownFilter(name, [...known.keys()])
}
