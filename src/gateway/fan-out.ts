import type { Reader } from '../domain/api-key.ts'
import { untilAborted, withDeadline } from '../domain/deadline.ts'
import { type MergedItem, merge } from '../domain/merge.ts'
import type { NamedSource, Page } from '../domain/page.ts'
import type { ListingQuery } from '../domain/query.ts'
import { SourceError } from '../domain/source-error.ts'
import { EntrepotError } from '../errors.ts'
import { reportFailure, reportPage, type SourceReport } from './source-report.ts'

/** Farthest end of a page while a live source is visible: it has to send everything before it (`contract.md` 3.1). */
export const MAX_LIVE_PREFIX = 2000

/** One answer out of many: `contract.md` 3.1. */
export type MergedAnswer = {
  items: readonly MergedItem[]
  /** Distinct matches before paging. */
  total: number
  /** Every visible source answered, fresh or stale. */
  complete: boolean
  /** One entry per visible source, in the order of the configuration. */
  sources: readonly SourceReport[]
}

/** `maxLivePrefix`: default `MAX_LIVE_PREFIX`; a buyer who reads everything for herself needs no such bound. */
export type FanOutOptions = { budgetMs: number; maxLivePrefix?: number }

export type Federation = (query: ListingQuery, reader: Reader, signal: AbortSignal) => Promise<MergedAnswer>

/**
 * Asks every source that the reader may see at once and merges what they say within `budgetMs`. A source that is
 * still out when the budget ends is `unavailable: timeout`; the others' answer stands.
 *
 * Throws `bad_request` for a page that ends beyond `MAX_LIVE_PREFIX`, and `unavailable`, or `timeout` where that is
 * what befell all of them, when no source could answer, with `sources` as a member of the problem.
 */
export const fanOut =
  (
    sources: readonly NamedSource[],
    { budgetMs, maxLivePrefix = MAX_LIVE_PREFIX }: FanOutOptions,
  ): Federation =>
  async (query, reader, signal) => {
    const visible = sources.filter((source) => source.visibility === 'public' || reader.kind === 'key')
    refuseFarPage(visible, query, maxLivePrefix)
    const { asked, offset } = prefixFor(visible, query)
    const outcomes = await askWithin(budgetMs, visible, asked, signal)
    return mergeOutcomes(outcomes, { offset, limit: query.limit })
  }

const refuseFarPage = (
  visible: readonly NamedSource[],
  { offset, limit }: ListingQuery,
  maxLivePrefix: number,
): void => {
  if (offset + limit <= maxLivePrefix || !visible.some(({ mode }) => mode === 'live')) return
  throw new EntrepotError(
    'bad_request',
    `offset + limit may not exceed ${maxLivePrefix} here: use cursor to read further`,
  )
}

/**
 * Any of the sources may hold the whole page, so each is asked for all that lies before its end; a source that is
 * alone is asked for the page itself. `offset` is where the page begins in what comes back.
 */
const prefixFor = (
  visible: readonly NamedSource[],
  query: ListingQuery,
): { asked: ListingQuery; offset: number } =>
  visible.length === 1
    ? { asked: query, offset: 0 }
    : { asked: { ...query, offset: 0, limit: query.offset + query.limit }, offset: query.offset }

type Outcome = { source: NamedSource; elapsedMs: number; result: Page | SourceError }

const askWithin = (
  budgetMs: number,
  sources: readonly NamedSource[],
  query: ListingQuery,
  caller: AbortSignal,
): Promise<Outcome[]> => {
  const late = new SourceError('timeout', `no answer within the budget of ${budgetMs} ms`)
  return withDeadline({ ms: budgetMs, late, caller }, (signal) =>
    Promise.all(sources.map((source) => askOne(source, query, signal))),
  )
}

/** Only a `SourceError` is a source's failure. Anything else is ours, or the caller who hung up, and ends it all. */
const askOne = async (source: NamedSource, query: ListingQuery, signal: AbortSignal): Promise<Outcome> => {
  const started = performance.now()
  const outcome = (result: Page | SourceError): Outcome => ({
    source,
    elapsedMs: performance.now() - started,
    result,
  })
  try {
    return outcome(await untilAborted(source.ask(query, signal), signal))
  } catch (error) {
    if (error instanceof SourceError) return outcome(error)
    throw error
  }
}

const mergeOutcomes = (
  outcomes: readonly Outcome[],
  page: { offset: number; limit: number },
): MergedAnswer => {
  const answers = outcomes.flatMap(({ source, result }) =>
    result instanceof SourceError ? [] : [{ source, page: result }],
  )
  const { items, total } = merge(answers, page)
  const sources = outcomes.map(({ source: { name }, result, elapsedMs }) =>
    result instanceof SourceError
      ? reportFailure(name, result, elapsedMs)
      : reportPage(name, result, items.filter(({ registry }) => registry === name).length, elapsedMs),
  )
  if (answers.length === 0) throw nothingUsable(sources)
  return { items, total, complete: answers.length === outcomes.length, sources }
}

const nothingUsable = (sources: readonly SourceReport[]): EntrepotError => {
  const late = sources.length > 0 && sources.every(({ reason }) => reason === 'timeout')
  return late
    ? new EntrepotError('timeout', 'No Registry answered in time: see sources', { members: { sources } })
    : new EntrepotError('unavailable', 'No Registry could answer: see sources', { members: { sources } })
}
