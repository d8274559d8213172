import { ANONYMOUS } from '../../domain/api-key.ts'
import { systemClock } from '../../domain/clock.ts'
import { raceAbort, withDeadline } from '../../domain/deadline.ts'
import type { ListingStatus } from '../../domain/listing.ts'
import type { NamedSource, ReadingInfo, Source } from '../../domain/reading.ts'
import { SourceError } from '../../domain/source-error.ts'
import { EntrepotError } from '../../errors.ts'
import type { UpstreamSpec } from '../../filter-spec/upstream-spec.ts'
import type { Cursors } from '../../gateway/cursor.ts'
import { createFindListing, type MergedLookup } from '../../gateway/find-listing.ts'
import { createReadPage, type MergedPage } from '../../gateway/pages.ts'
import type { SourceReport } from '../../wire/source.ts'
import { type ListingJson, toListingJson } from '../listing-json.ts'
import { printSourceReports } from '../output/source-reports.ts'
import { printStatus, type Terminal } from '../output/terminal.ts'
import { criteriaFor, fetchFilterSpec } from './filter-specs.ts'
import type { RegistryClient } from './registry-client.ts'
import type { Registry } from './select-registries.ts'

export type RegistryQuery = {
  status: ListingStatus | null
  publisher: string | null
  filters: readonly (readonly [name: string, value: string])[]
  limit: number
  offset: number
}

export type Deadlines = {
  /** Per Registry, its filter spec included. */
  registryMs: number
  overallMs: number
}

type Watcher = (registry: Registry, outcome: ReadingInfo | SourceError) => void

type QueryOptions = {
  signal?: AbortSignal
  /** `null`: no cursors. */
  cursors?: Cursors | null
  cursor?: string | null
}

/** A filter that a Registry lacks is applied here. @throws EntrepotError */
export function queryRegistries(
  client: RegistryClient,
  registries: readonly Registry[],
  question: RegistryQuery,
  deadlines: Deadlines,
  watch: Watcher,
  { signal = new AbortController().signal, cursors = null, cursor = null }: QueryOptions = {},
): Promise<MergedPage> {
  const open =
    question.filters.length === 0
      ? (registry: Registry) => client.source(registry, deadlines.registryMs)
      : withFilters(client, registries, question, deadlines)
  const sources = namedSources(registries, (registry, n) =>
    observe(registry, withTimeout(registry, deadlines.registryMs, open(registry, n)), watch),
  )
  const readPage = createReadPage({
    sources,
    budgetMs: deadlines.overallMs,
    clock: systemClock,
    cursors,
    maxLivePrefix: Number.POSITIVE_INFINITY,
  })
  return readPage({ ...question, criteria: [] }, cursor, { reader: ANONYMOUS, signal })
}

/** Best priority first. */
const namedSources = (
  registries: readonly Registry[],
  read: (registry: Registry, n: number) => Source,
): NamedSource[] =>
  registries.map((registry, n) => ({
    name: registry.url,
    visibility: 'public',
    mode: 'live',
    priority: n,
    read: read(registry, n),
    // Any of them may be a gateway.
    mayRepeat: true,
  }))

/** All filter specs are fetched at once. A Registry waits for another's only where it lacks a filter. */
function withFilters(
  client: RegistryClient,
  registries: readonly Registry[],
  { filters }: RegistryQuery,
  { registryMs }: Deadlines,
): (registry: Registry, n: number) => Source {
  const vocabularies = registries.map((registry) => fetchFilterSpec(client, registry, registryMs))
  // Reported by the source that it belongs to, perhaps later.
  for (const vocabulary of vocabularies) vocabulary.catch(() => {})
  return (registry, n) => {
    let current: UpstreamSpec | null = null
    const loaded = vocabularies[n]!.then((spec) => {
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
      const criteria = await criteriaFor(await vocabularies[n]!, vocabularies, filters)
      return source({ ...query, criteria }, range, signal)
    }
  }
}

const withTimeout =
  ({ url }: Registry, ms: number, source: Source): Source =>
  (query, range, caller) => {
    const late = () => new SourceError('timeout', `${url}: no answer within ${ms} ms`)
    return withDeadline({ ms, late, caller }, (signal) => raceAbort(source(query, range, signal), signal))
  }

const observe =
  (registry: Registry, source: Source, watch: Watcher): Source =>
  async (query, range, signal) => {
    try {
      const reading = await source(query, range, signal)
      watch(registry, reading)
      return reading
    } catch (error) {
      if (error instanceof SourceError) watch(registry, error)
      throw error
    }
  }

type FoundRow = {
  row: ListingJson | null
  registry: Registry | null
  /** Whether every Registry that could have a better copy answered. */
  complete: boolean
  reports: readonly SourceReport[]
  /** By the Registry's URL. */
  faults: ReadonlyMap<string, SourceError>
}

export async function findAndReport(
  terminal: Terminal,
  client: RegistryClient,
  registries: readonly Registry[],
  id: string,
  timeoutMs: number,
): Promise<FoundRow> {
  const found = await findInRegistries(client, registries, id, timeoutMs)
  printSourceReports(terminal, found.reports, found.faults)
  for (const warning of warningsOf(found)) printStatus(terminal, warning)
  return found
}

/** The first Registry has the best priority. */
export async function findInRegistries(
  client: RegistryClient,
  registries: readonly Registry[],
  id: string,
  timeoutMs: number,
): Promise<FoundRow & { disputed: readonly string[] }> {
  const faults = new Map<string, SourceError>()
  const sources = namedSources(registries, (registry) => {
    const source = withTimeout(registry, timeoutMs, client.source(registry, timeoutMs))
    return (...asked) =>
      source(...asked).catch((error: unknown) => {
        if (error instanceof SourceError) faults.set(registry.url, error)
        throw error
      })
  })
  const findListing = createFindListing({ sources, budgetMs: timeoutMs, clock: systemClock })
  const { signal } = new AbortController()
  const { merged, complete, reports } = await findListing(
    { ...ANY_STATUS, listingId: id },
    { reader: ANONYMOUS, signal },
  ).then(toFound, notFound)
  return {
    row: merged === null ? null : toListingJson(merged),
    registry: registries.find(({ url }) => url === merged?.registry) ?? null,
    complete,
    disputed: merged?.disputed ?? [],
    reports,
    faults,
  }
}

const ANY_STATUS = { status: null, publisher: null, criteria: [], filters: [] }

type Found = Pick<MergedLookup, 'merged' | 'complete'> & { reports: readonly SourceReport[] }

const toFound = ({ merged, complete, sources }: MergedLookup): Found => ({
  merged,
  complete,
  reports: sources,
})

function notFound(error: unknown): Found {
  if (!(error instanceof EntrepotError) || !Array.isArray(error.members.sources)) throw error
  return { merged: null, complete: false, reports: error.members.sources as SourceReport[] }
}

const warningsOf = ({
  row,
  complete,
  disputed,
}: Pick<FoundRow, 'row' | 'complete'> & { disputed: readonly string[] }): string[] => [
  ...(row !== null && !complete
    ? ['Warning: a Registry that may have a better copy of this listing did not answer.']
    : []),
  ...disputed.map(
    (name) =>
      `Warning: ${name} has this publisher at another storefront. Check the storefront before you pay.`,
  ),
]
