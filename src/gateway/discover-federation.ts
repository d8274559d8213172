import type { Reader } from '../domain/api-key.ts'
import type { SourceStatus } from '../domain/source-status.ts'
import type { Trace } from '../domain/trace.ts'
import { parseCriteria } from '../filter-spec/parameters.ts'
import { askPage } from './ask-page.ts'
import type { Discovery, KnownFilter, SourceNote } from './discovery.ts'
import { renderItem } from './envelope.ts'
import { countReturned, describeOutcomes, type Federation } from './fan-out.ts'
import type { FindListing } from './find-listing.ts'
import type { Paging } from './paging.ts'
import { reportStatus } from './status-report.ts'
import { maySee } from './visible.ts'
import type { Vocabulary } from './vocabulary.ts'

export type DiscoverableFederation = {
  gatewayId: string
  vocabulary: Vocabulary
  federation: Federation
  paging: Paging
  find: FindListing
  sources: readonly { status: () => SourceStatus }[]
}

/** Everything behind this gateway that one reader may see, as she discovers it. */
export const discoverFederation = (
  gateway: DiscoverableFederation,
  reader: Reader,
  trace?: Trace,
): Discovery => {
  // No gateway asks through this door: a question begins its way here.
  const passage = { via: [gateway.gatewayId], ...(trace === undefined ? {} : { trace }) }
  const visible = (): SourceStatus[] =>
    gateway.sources.map(({ status }) => status()).filter((status) => maySee(reader, status))
  return {
    search: async ({ cursor, sources: named, ...search }, signal) => {
      const words = await gateway.vocabulary(reader, search.filters)
      const query = { ...search, criteria: parseCriteria(words, search.filters), offset: 0, ...passage }
      const asking = { named }
      const { items, total, complete, sources, nextCursor } = await askPage(gateway, query, cursor, {
        reader,
        signal,
        asking,
      })
      return { items: items.map((item) => renderItem(item).toString()), total, complete, sources, nextCursor }
    },
    find: async (listingId, source, signal) => {
      // `eu/curated` is the source `eu`, which says the rest itself.
      const named = source === null ? null : [source.split('/', 1)[0]!]
      const query = { ...ONE, listingId, ...passage }
      const { merged, outcomes } = await gateway.find(query, reader, signal, { named })
      const described = describeOutcomes(outcomes, countReturned(merged === null ? [] : [merged]))
      return { item: merged === null ? null : renderItem(merged).toString(), ...described }
    },
    filters: async () => {
      const { body } = await gateway.vocabulary(reader)
      const { filters } = JSON.parse(body) as { filters: KnownFilter[] }
      const sources = visible().map(noteOnFilters)
      return { filters, sources, complete: sources.every(({ state }) => state === 'loaded') }
    },
    sources: async () => {
      const sources = visible().flatMap(notesOnHealth)
      return { sources, complete: sources.every(({ state }) => state === 'loaded' || state === 'stale') }
    },
  }
}

const ONE = { status: null, publisher: null, criteria: [], filters: [], limit: 1, offset: 0 }

/** Filters have an answer of their own. Behind a source stands what it has not reached. */
const notesOnHealth = (status: SourceStatus): SourceNote[] => {
  const { filters: _, gaps = [], ...report } = reportStatus(status)
  const { state, last_error: error } = report
  return [state === 'loaded' || error === null ? report : { ...report, reason: error.reason }, ...gaps]
}

const noteOnFilters = ({ name, filters, lastError }: SourceStatus): SourceNote =>
  filters === null
    ? {
        registry: name,
        state: 'unavailable',
        ...(lastError === null ? {} : { reason: lastError.reason }),
      }
    : { registry: name, state: 'loaded' }
