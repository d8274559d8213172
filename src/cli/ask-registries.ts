import { ANONYMOUS } from '../domain/api-key.ts'
import { untilAborted, withDeadline } from '../domain/deadline.ts'
import type { ListingStatus } from '../domain/listing.ts'
import type { NamedSource, Page, Source } from '../domain/page.ts'
import { SourceError } from '../domain/source-error.ts'
import type { UpstreamSpec } from '../filter-spec/upstream-spec.ts'
import { fanOut, type MergedAnswer } from '../gateway/fan-out.ts'
import { planned } from '../gateway/plan.ts'
import type { Market } from './market.ts'
import type { Registry } from './select-registries.ts'
import { criteriaFor, fetchVocabulary } from './vocabulary.ts'

/** What a buyer asks of all Registries. */
export type Question = {
  status: ListingStatus | null
  publisher: string | null
  filters: readonly (readonly [name: string, value: string])[]
  limit: number
  offset: number
}

export type Deadlines = {
  /** For each Registry, its filter spec included. */
  registryMs: number
  /** For all of it. */
  overallMs: number
}

/** Told as each Registry answers or fails. */
export type Watcher = (registry: Registry, outcome: Page | SourceError) => void

/**
 * Asks every Registry at once and merges what they say, by the gateway's own fan-out. A filter that a Registry lacks
 * is applied here.
 * @throws EntrepotError `bad_request` for a filter that cannot be asked; `unavailable` or `timeout` when none answered
 */
export const askRegistries = (
  market: Market,
  registries: readonly Registry[],
  question: Question,
  deadlines: Deadlines,
  watch: Watcher,
  signal: AbortSignal = new AbortController().signal,
): Promise<MergedAnswer> => {
  const ask = question.filters.length === 0 ? plainly : withFilters(market, registries, question, deadlines)
  const sources = registries.map((registry, n): NamedSource => {
    const source = ask(market.source(registry, deadlines.registryMs), n)
    return {
      name: registry.url,
      visibility: 'public',
      mode: 'live',
      priority: n,
      ask: watched(registry, inTime(registry, deadlines.registryMs, source), watch),
    }
  })
  const query = { ...question, criteria: [] }
  return fanOut(sources, { budgetMs: deadlines.overallMs, maxLivePrefix: Number.POSITIVE_INFINITY })(
    query,
    ANONYMOUS,
    signal,
  )
}

const plainly = (source: Source): Source => source

/** All filter specs are fetched at once; a Registry waits for another's only where it lacks a filter itself. */
const withFilters = (
  market: Market,
  registries: readonly Registry[],
  { filters }: Question,
  { registryMs }: Deadlines,
): ((source: Source, n: number) => Source) => {
  const vocabularies = registries.map((registry) => fetchVocabulary(market, registry, registryMs))
  // Each failure is told by the source that it belongs to, perhaps after this turn.
  for (const vocabulary of vocabularies) vocabulary.catch(() => {})
  return (source, n) => async (query, signal) => {
    const own = await vocabularies[n]!
    const criteria = await criteriaFor(own, vocabularies, filters)
    const known = async (): Promise<UpstreamSpec> => own
    const recheck = (): Promise<UpstreamSpec> => fetchVocabulary(market, registries[n]!, registryMs)
    const plan = planned({ name: registries[n]!.url, spec: { known, recheck }, schema: null })
    return plan(source)({ ...query, criteria }, signal)
  }
}

const inTime =
  ({ url }: Registry, ms: number, source: Source): Source =>
  (query, caller) => {
    const late = new SourceError('timeout', `${url}: no answer within ${ms} ms`)
    return withDeadline({ ms, late, caller }, (signal) => untilAborted(source(query, signal), signal))
  }

const watched =
  (registry: Registry, source: Source, watch: Watcher): Source =>
  async (query, signal) => {
    try {
      const page = await source(query, signal)
      watch(registry, page)
      return page
    } catch (error) {
      if (error instanceof SourceError) watch(registry, error)
      throw error
    }
  }
