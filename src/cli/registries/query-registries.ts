import { ANONYMOUS } from '../../domain/api-key.ts'
import { raceAbort, systemClock, withDeadline } from '../../domain/clock.ts'
import type { ListingStatus } from '../../domain/listing.ts'
import { type PriceQuestion, parsePriceQuestion } from '../../domain/price/price-parameters.ts'
import { TokenTable } from '../../domain/price/token.ts'
import type { NamedSource } from '../../domain/source/named-source.ts'
import type { Source } from '../../domain/source/reading.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import { EntrepotError } from '../../errors.ts'
import type { Filter } from '../../filter-spec/filter.ts'
import type { UpstreamSpec } from '../../filter-spec/upstream-spec.ts'
import type { Cursors } from '../../gateway/cursor.ts'
import { renderItem } from '../../gateway/envelope.ts'
import { createReadFacets, type FacetsQuery, type MergedFacets } from '../../gateway/facets.ts'
import { createFindListing } from '../../gateway/find-listing.ts'
import { createReadPage, type MergedPage } from '../../gateway/pages.ts'
import type { SourceReport } from '../../wire/source.ts'
import { allFilters, criteriaFor, fetchFilterSpec, fetchFilterSpecs } from './filter-specs.ts'
import type { RegistryClient } from './registry-client.ts'
import type { Registry } from './select-registries.ts'

export type RegistryQuery = {
  status: ListingStatus | null
  publisher: string | null
  filters: readonly (readonly [name: string, value: string])[]
  prices: PriceQuestion
  /** For the prices of items. */
  tokens: TokenTable
}

const NO_TOKENS = new TokenTable([])

/** Newest first, without prices. */
export const NEWEST_FIRST: Pick<RegistryQuery, 'prices' | 'tokens'> = {
  prices: parsePriceQuestion(NO_TOKENS, {}),
  tokens: NO_TOKENS,
}

type PageOfRegistries = RegistryQuery & { limit: number; offset: number }

export type Deadlines = {
  /** Per Registry, its filter spec included. */
  registryMs: number
  overallMs: number
}

/** `error` is set where no Registry answered. */
export type Answered<Answer> = ({ answer: Answer; error: null } | { answer: null; error: EntrepotError }) & {
  reports: readonly SourceReport[]
  /** By the Registry's URL. */
  failures: ReadonlyMap<string, SourceError>
}

export type QueryOptions = {
  signal?: AbortSignal
  /** `null`: no cursors. */
  cursors?: Cursors | null
  cursor?: string | null
  onSettled?: (registry: Registry, isAnswer: boolean) => void
}

/** A filter that a Registry lacks is applied here. @throws EntrepotError `bad_request` */
export async function queryRegistries(
  client: RegistryClient,
  registries: readonly Registry[],
  { prices, tokens, ...query }: PageOfRegistries,
  { registryMs, overallMs }: Deadlines,
  { signal = NEVER_ABORTED, cursors = null, cursor = null, onSettled = () => {} }: QueryOptions = {},
): Promise<Answered<MergedPage>> {
  const open =
    query.filters.length === 0
      ? (registry: Registry) => client.source(registry, registryMs)
      : withFilters(client, query.filters, registryMs, fetchFilterSpecs(client, registries, registryMs))
  const failures = new Map<string, SourceError>()
  const readPage = createReadPage({
    sources: namedSources(registries, registryMs, open, failures, onSettled),
    budgetMs: overallMs,
    clock: systemClock,
    tokens,
    cursors,
    maxLivePrefix: Number.POSITIVE_INFINITY,
  })
  const byPrice = prices.sort === 'price' ? prices : undefined
  const request = { reader: ANONYMOUS, signal, options: { byPrice } }
  const page = { ...query, criteria: [], priceLimit: prices.limit }
  return settle(readPage(page, cursor, request), failures)
}

type CountQuestion = RegistryQuery & {
  /** What is counted, of the filters that the Registries have. */
  by: (filters: ReadonlyMap<string, Filter>) => FacetsQuery['by']
}

/** Reads every listing that matches. @throws EntrepotError `bad_request` */
export async function countInRegistries(
  client: RegistryClient,
  registries: readonly Registry[],
  { by, prices, tokens, ...query }: CountQuestion,
  { registryMs, overallMs }: Deadlines,
  { signal = NEVER_ABORTED, onSettled }: Pick<QueryOptions, 'signal' | 'onSettled'> = {},
): Promise<Answered<MergedFacets>> {
  const specs = fetchFilterSpecs(client, registries, registryMs)
  const filters = await allFilters(specs)
  const failures = new Map<string, SourceError>()
  const readFacets = createReadFacets({
    sources: namedSources(
      registries,
      registryMs,
      withFilters(client, query.filters, registryMs, specs),
      failures,
      onSettled,
    ),
    budgetMs: overallMs,
    clock: systemClock,
    tokens,
  })
  // Without any filter spec there is no answer either, and every Registry reports why.
  const fields = filters === null ? [] : by(filters)
  const question = { ...query, criteria: [], priceLimit: prices.limit, by: fields, per: prices.per }
  return settle(readFacets(question, { reader: ANONYMOUS, signal }), failures)
}

export type FoundInRegistry = {
  /** JSON text, with `_meta`. */
  row: string
  registry: Registry
  /** Whether every Registry that could have a better copy answered. */
  complete: boolean
  disputed: readonly string[]
}

/** `answer` is `null` also where no Registry has the listing. */
export async function findInRegistries(
  client: RegistryClient,
  registries: readonly Registry[],
  id: string,
  timeoutMs: number,
): Promise<Answered<FoundInRegistry | null>> {
  const failures = new Map<string, SourceError>()
  const open = (registry: Registry): Source => client.source(registry, timeoutMs)
  const sources = namedSources(registries, timeoutMs, open, failures)
  const findListing = createFindListing({ sources, budgetMs: timeoutMs, clock: systemClock })
  const request = { reader: ANONYMOUS, signal: NEVER_ABORTED }
  const settled = await settle(findListing({ listingId: id }, request), failures)
  const { answer } = settled
  if (answer === null) return settled
  const { merged, complete } = answer
  if (merged === null) return { ...settled, answer: null }
  return {
    ...settled,
    answer: {
      row: renderItem(merged).toString(),
      registry: registries.find(({ url }) => url === merged.registry)!,
      complete,
      disputed: merged.disputed,
    },
  }
}

const NEVER_ABORTED = new AbortController().signal

/** An error with the reports of its sources is a result: each Registry failed for a reason of its own. */
const settle = <Answer extends { sources: readonly SourceReport[] }>(
  pending: Promise<Answer>,
  failures: ReadonlyMap<string, SourceError>,
): Promise<Answered<Answer>> =>
  pending.then(
    (answer) => ({ answer, error: null, reports: answer.sources, failures }),
    (error: unknown) => {
      if (!(error instanceof EntrepotError) || !Array.isArray(error.members.sources)) throw error
      return { answer: null, error, reports: error.members.sources, failures }
    },
  )

/** Best priority first. Failures are added to `failures`. */
const namedSources = (
  registries: readonly Registry[],
  timeoutMs: number,
  open: (registry: Registry, n: number) => Source,
  failures: Map<string, SourceError>,
  onSettled: (registry: Registry, isAnswer: boolean) => void = () => {},
): NamedSource[] =>
  registries.map((registry, n) => {
    const source = withTimeout(registry, timeoutMs, open(registry, n))
    return {
      name: registry.url,
      visibility: 'public',
      mode: 'live',
      priority: n,
      // Any of them may be a gateway.
      mayRepeat: true,
      read: async (query, range, signal) => {
        try {
          const reading = await source(query, range, signal)
          onSettled(registry, true)
          return reading
        } catch (error) {
          if (error instanceof SourceError) {
            failures.set(registry.url, error)
            onSettled(registry, false)
          }
          throw error
        }
      },
    }
  })

const withTimeout =
  ({ url }: Registry, ms: number, source: Source): Source =>
  (query, range, caller) => {
    const timeoutError = () => new SourceError('timeout', `${url}: no answer within ${ms} ms`)
    return withDeadline({ ms, timeoutError, caller }, (signal) =>
      raceAbort(source(query, range, signal), signal),
    )
  }

/** A Registry waits for another's filter spec only where it lacks a filter. */
function withFilters(
  client: RegistryClient,
  filters: RegistryQuery['filters'],
  registryMs: number,
  specs: readonly Promise<UpstreamSpec>[],
): (registry: Registry, n: number) => Source {
  return (registry, n) => {
    let current: UpstreamSpec | null = null
    const loaded = specs[n]!.then((spec) => {
      current = spec
    })
    loaded.catch(() => {})
    const source = client.source(registry, registryMs, {
      loaded,
      recheck: () => fetchFilterSpec(client, registry, registryMs),
      get current() {
        return current
      },
    })
    return async (query, range, signal) => {
      const criteria = await criteriaFor(await specs[n]!, specs, filters)
      return source({ ...query, criteria }, range, signal)
    }
  }
}
