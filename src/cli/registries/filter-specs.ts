import { SourceError } from '../../domain/source/source-error.ts'
import { EntrepotError } from '../../errors.ts'
import type { Criterion } from '../../filter-spec/criteria.ts'
import type { Filter } from '../../filter-spec/filter.ts'
import { filterNameOf, parseCriteria } from '../../filter-spec/parameters.ts'
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
  if (isUnauthorized(response))
    throw new SourceError('unauthorized', `${registry.url}: ${describeErrorResponse(response)}`)
  if (response.status !== 200)
    throw new SourceError(`http_${response.status}`, `${registry.url}: ${describeErrorResponse(response)}`)
  try {
    return readUpstreamSpec(response.body)
  } catch (cause) {
    throw new SourceError('bad_envelope', `${registry.url}: ${(cause as Error).message}`, { cause })
  }
}

const NO_FILTERS: UpstreamSpec = { etag: null, schemaId: null, filters: new Map(), registries: new Map() }

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
    const filter = own.filters.get(name) ?? (await firstDefinition(others, name))
    if (filter === undefined) throw new EntrepotError('bad_request', `no Registry has a filter '${name}'`)
    filters.set(name, filter)
  }
  return parseCriteria({ filters }, pairs)
}

async function firstDefinition(
  specs: readonly Promise<UpstreamSpec>[],
  name: string,
): Promise<Filter | undefined> {
  for (const settled of await Promise.allSettled(specs)) {
    const filter = settled.status === 'fulfilled' ? settled.value.filters.get(name) : undefined
    if (filter !== undefined) return filter
  }
  return undefined
}
