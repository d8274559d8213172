import { randomBytes } from 'node:crypto'
import { isRegistryName } from '../../domain/names.ts'
import { parsePriceQuestion } from '../../domain/price/price-parameters.ts'
import { ALL_OPEN } from '../../domain/query.ts'
import { readMissingList } from '../../domain/source/missing-source.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import { EntrepotError } from '../../errors.ts'
import { type Declaring, federate } from '../../filter-spec/federated.ts'
import type { Filter, FilterSpec } from '../../filter-spec/filter.ts'
import { Cursors } from '../../gateway/cursor.ts'
import {
  countedFilters,
  countedOf,
  countsIn,
  type Discovery,
  type FoundFilters,
  type KnownFilter,
  unlessRefused,
} from '../../gateway/discovery.ts'
import { renderItem } from '../../gateway/envelope.ts'
import { facetFields } from '../../gateway/facets.ts'
import { type JsonValue, textAt } from '../../json/value.ts'
import type { SourceNote } from '../../wire/source.ts'
import { fetchFilterSpec } from './filter-specs.ts'
import { type Inspection, inspectRegistry, withMissingSources } from './inspect-registry.ts'
import { countInRegistries, type Deadlines, findInRegistries, queryRegistries } from './query-registries.ts'
import type { RegistryClient } from './registry-client.ts'
import type { Registry, SelectedRegistries } from './select-registries.ts'

const OVERALL_MS = 10_000

/** Cursors are valid for as long as the process runs. */
export function discoverRegistries(
  client: RegistryClient,
  { registries, discoveryTimeoutMs: registryMs, tokens }: SelectedRegistries,
  cursors: Cursors = new Cursors(randomBytes(16).toString('hex'), () => Date.now() / 1000),
): Discovery {
  const named = (names: readonly string[] | null): readonly Registry[] =>
    names === null ? registries : [...new Set(names.map((name) => registryOf(registries, name)))]
  const deadlines = (readsAll: boolean): Deadlines => ({
    registryMs: readsAll ? OVERALL_MS : Math.min(registryMs, OVERALL_MS),
    overallMs: OVERALL_MS,
  })
  return {
    search: async ({ sources: names, cursor, prices, ...search }, signal) => {
      const question = parsePriceQuestion(tokens, prices)
      const readsAll = question.sort === 'price' || question.limit !== undefined
      const { answer, error, reports, failures } = await queryRegistries(
        client,
        named(names),
        { ...search, prices: question, tokens, offset: 0 },
        deadlines(readsAll),
        { signal, cursors, cursor },
      )
      const sources = withDetails(reports, failures)
      if (error !== null) throw withSources(error, sources)
      const { items, total, complete, nextCursor } = answer
      return { items: items.map((item) => renderItem(item).toString()), total, complete, sources, nextCursor }
    },
    find: async (id, name) => {
      const selected = name === null ? registries : [registryOf(registries, name)]
      const { answer, error, reports, failures } = await findInRegistries(client, selected, id, registryMs)
      const sources = withDetails(reports, failures)
      if (error !== null) throw withSources(error, sources)
      return { item: answer?.row ?? null, complete: answer?.complete ?? true, sources }
    },
    market: async ({ by, sources: names, prices, ...market }, signal) => {
      const question = {
        ...market,
        by: (filters: ReadonlyMap<string, Filter>) => facetFields(by, filters),
        prices: parsePriceQuestion(tokens, prices, { countsPrices: true }),
        tokens,
      }
      const counted = await countInRegistries(client, named(names), question, deadlines(true), { signal })
      const sources = withDetails(counted.reports, counted.failures)
      if (counted.error !== null) throw withSources(counted.error, sources)
      const { total, facets, prices: ranges, complete } = counted.answer
      return { total, facets, prices: ranges, complete, sources }
    },
    filters: async (signal, isCounted) => {
      const question = { ...ALL_OPEN, by: countedFilters, prices: parsePriceQuestion(tokens, {}), tokens }
      const [known, counted] = await Promise.all([
        knownFilters(client, registries, registryMs),
        isCounted
          ? unlessRefused(countInRegistries(client, registries, question, deadlines(true), { signal }))
          : null,
      ])
      const facets = counted?.answer?.facets
      return {
        ...known,
        counted: countedOf(counted?.answer),
        filters: known.filters.map((one) => ({ ...one, counts: countsIn(facets, one.name) })),
      }
    },
    sources: async () => {
      const inspections = registries.map((registry) => inspectRegistry(client, registry, registryMs))
      const sources = (await Promise.all(inspections)).flatMap(sourceNotesOf)
      return { sources, complete: sources.every(({ state }) => state === 'loaded') }
    },
  }
}

/** The filters of all Registries, with the values that the first of them allows. */
export async function knownFilters(
  client: RegistryClient,
  registries: readonly Registry[],
  registryMs: number,
): Promise<FoundFilters> {
  const known = await Promise.all(registries.map((registry) => filterSpecOf(client, registry, registryMs)))
  const declaring = known.flatMap(({ declared }) => (declared === null ? [] : [declared]))
  const { filters } = JSON.parse(federate(NO_SPEC, declaring).body) as { filters: KnownFilter[] }
  const allowedOf = (name: string) =>
    declaring.find(({ spec }) => spec.filters.has(name))?.spec.allowed.get(name)
  return {
    filters: filters.map((filter) => ({ ...filter, allowed: allowedOf(filter.name) })),
    sources: known.map(({ note }) => note),
    complete: declaring.length === registries.length,
  }
}

/** By its URL, or that of one of its sources: `https://gateway.example/curated`. */
function registryOf(registries: readonly Registry[], name: string): Registry {
  const found = registries
    .filter(({ url }) => name === url || name.startsWith(`${url}/`))
    .toSorted((a, b) => b.url.length - a.url.length)[0]
  if (found !== undefined) return found
  throw new EntrepotError('bad_request', `There is no source ${JSON.stringify(name)}: see list_sources`)
}

const withDetails = (
  reports: readonly SourceNote[],
  failures: ReadonlyMap<string, SourceError>,
): SourceNote[] =>
  reports.map((report) => {
    const failure = failures.get(report.registry)
    return failure === undefined ? report : { ...report, detail: failure.message }
  })

const withSources = (cause: EntrepotError, sources: readonly SourceNote[]): EntrepotError =>
  new EntrepotError(cause.code, cause.message, { cause, members: { sources } })

async function filterSpecOf(
  client: RegistryClient,
  registry: Registry,
  timeoutMs: number,
): Promise<{ declared: Declaring | null; note: SourceNote }> {
  const { url } = registry
  try {
    const spec = await fetchFilterSpec(client, registry, timeoutMs)
    return {
      declared: { name: url, kind: 'gateway', priority: 0, spec },
      note: { registry: url, state: 'loaded' },
    }
  } catch (cause) {
    if (!(cause instanceof SourceError)) throw cause
    const { reason, message: detail } = cause
    return { declared: null, note: { registry: url, state: 'unavailable', reason, detail } }
  }
}

const NO_SPEC: FilterSpec = { version: 1, etag: '', schema: null, listingShape: {}, filters: new Map() }

/** Per gateway. */
const MAX_SOURCE_NAMES = 100

function sourceNotesOf(inspection: Inspection): SourceNote[] {
  const { registry } = inspection
  if ('error' in inspection) {
    const { error: detail, reason } = inspection
    return [{ registry, state: 'unavailable', ...(reason && { reason }), detail }]
  }
  const { kind, sources } = inspection
  if (kind === 'registry') return [{ registry, kind, state: textAt(sources, 0, 'state') ?? 'unavailable' }]
  const gaps = readMissingList(withMissingSources(sources)).map((gap) => ({
    ...gap,
    registry: `${registry}/${gap.registry}`,
  }))
  return [{ registry, kind, state: 'loaded', behind: namesOf(sources) }, ...gaps]
}

/** Only the names, since the gateway is not trusted. */
const namesOf = (sources: readonly JsonValue[]): string[] =>
  sources
    .map((source) => textAt(source, 'registry'))
    .filter(isRegistryName)
    .slice(0, MAX_SOURCE_NAMES)
