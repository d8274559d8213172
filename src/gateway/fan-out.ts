import type { Reader } from '../domain/api-key.ts'
import { untilLastWord, withDeadline } from '../domain/deadline.ts'
import type { MergedItem } from '../domain/merge.ts'
import type { NamedSource, Page } from '../domain/page.ts'
import type { ListingQuery } from '../domain/query.ts'
import { SourceError } from '../domain/source-error.ts'
import type { Trace } from '../domain/trace.ts'
import { EntrepotError } from '../errors.ts'
import { mergeWithCopies } from './merge-with-copies.ts'
import { refuseUnusable } from './refuse-unusable.ts'
import { explainSource, reportFailure, reportGap, reportPage, type SourceReport } from './source-report.ts'
import { visibleSources } from './visible.ts'

/** Farthest end of a page while a live source is visible: it has to send everything before it (`contract.md` 3.1). */
export const MAX_LIVE_PREFIX = 2000

/** One answer out of many: `contract.md` 3.1. */
export type MergedAnswer = {
  items: readonly MergedItem[]
  /** The same, with all that lies before them in what was asked for. */
  shown: readonly MergedItem[]
  /** Distinct matches before paging. */
  total: number
  /** Every visible source answered, fresh or stale, and none said that its own answer is not complete. */
  complete: boolean
  /** One entry per visible source, in the order of the configuration, and behind it those that it has not reached. */
  sources: readonly SourceReport[]
  /** What each of them said, in the same order. */
  outcomes: readonly Outcome[]
}

/** What one source said to one question, or why it said nothing. */
export type Outcome = { source: NamedSource; elapsedMs: number; result: Page | SourceError }

/** `maxLivePrefix`: default `MAX_LIVE_PREFIX`; a buyer who reads everything for herself needs no such bound. */
export type FanOutOptions = { budgetMs: number; maxLivePrefix?: number }

/** How one reader wants her question asked. */
export type Asking = {
  /** Only these sources; absent or `null` asks all that she may see. */
  named?: readonly string[] | null
  /** Default: the gateway's own. */
  budgetMs?: number | undefined
  /** Nothing but an answer from every source, and a current one, will do. */
  requireAll?: boolean
  /** The question has been through this gateway before: only the local Registry is asked. */
  isLoop?: boolean
}

export type Federation = (
  query: ListingQuery,
  reader: Reader,
  signal: AbortSignal,
  asking?: Asking,
) => Promise<MergedAnswer>

/**
 * Asks every source that the reader may see at once and merges what they say within `budgetMs`. A source that is
 * still out when the budget ends is `unavailable: timeout`; the others' answer stands.
 *
 * Throws `bad_request` for a page that ends beyond `MAX_LIVE_PREFIX` or a source that is none, `source_incomplete`
 * where all are required and not all have a current answer, and `unavailable`, or `timeout` where that is what befell
 * all of them, when no source could answer, with `sources` as a member of the problem. The same when nothing matched
 * and no upstream could answer: an empty answer must be known to be empty (decision 7).
 */
export const fanOut =
  (
    sources: readonly NamedSource[],
    { budgetMs, maxLivePrefix = MAX_LIVE_PREFIX }: FanOutOptions,
  ): Federation =>
  async (query, reader, signal, asking = {}) => {
    const visible = visibleSources(sources, reader, asking.named)
    const askable = asking.isLoop ? visible.map(onlyLocal) : visible
    if (!asking.isLoop) refuseFarPage(visible, query, maxLivePrefix)
    const { asked, offset } = prefixFor(askable, query)
    const page = { offset, limit: query.limit, explain: query.explain, trace: query.trace }
    let outcomes = await askWithin(asking.budgetMs ?? budgetMs, askable, asked, signal)
    let merged = mergeOutcomes(outcomes, page)
    for (let limit = 2 * asked.limit; merged.isShort; limit *= 2) {
      outcomes = await readOn(outcomes, { ...asked, limit }, signal)
      merged = mergeOutcomes(outcomes, page)
    }
    const { isShort: _, ...answer } = merged
    refuseUnusable(answer, asking)
    return answer
  }

/** For a question that has been here before: a source that would only lead it round again says so itself. */
export const onlyLocal = (source: NamedSource): NamedSource =>
  source.mode === 'local'
    ? source
    : {
        ...source,
        ask: async () => {
          throw new SourceError('loop', 'the question has been through this gateway before')
        },
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

/** Asks those that are known whole again, for more: they have it at hand. */
const readOn = (outcomes: readonly Outcome[], query: ListingQuery, signal: AbortSignal): Promise<Outcome[]> =>
  Promise.all(
    outcomes.map(async (outcome) => {
      const isWhole = !(outcome.result instanceof SourceError) && outcome.result.find !== undefined
      return isWhole ? askOne(outcome.source, query, signal) : outcome
    }),
  )

/** Only a `SourceError` is a source's failure. Anything else is ours, or the caller who hung up, and ends it all. */
export const askOne = async (
  source: NamedSource,
  query: ListingQuery,
  signal: AbortSignal,
): Promise<Outcome> => {
  const started = performance.now()
  const outcome = (result: Page | SourceError): Outcome => ({
    source,
    elapsedMs: performance.now() - started,
    result,
  })
  try {
    return outcome(await untilLastWord(source.ask(query, signal), signal))
  } catch (error) {
    if (error instanceof SourceError) return outcome(error)
    throw error
  }
}

const mergeOutcomes = (
  outcomes: readonly Outcome[],
  page: { offset: number; limit: number; explain: boolean | undefined; trace: Trace | undefined },
): MergedAnswer & { isShort: boolean } => {
  const answers = outcomes.flatMap(({ source, result }) =>
    result instanceof SourceError ? [] : [{ source, page: result }],
  )
  const { items: shown, total, isShort } = mergeWithCopies(answers, page.offset + page.limit, page.trace)
  const items = shown.slice(page.offset)
  return {
    items,
    shown,
    total,
    isShort,
    outcomes,
    ...describeOutcomes(outcomes, countReturned(items), page.explain),
  }
}

/** What readers are told of the sources of an answer. `returned`: listings shown of each. */
export const describeOutcomes = (
  outcomes: readonly Outcome[],
  returned: ReadonlyMap<string, number>,
  explain = false,
): Pick<MergedAnswer, 'complete' | 'sources'> => {
  const sources = outcomes.flatMap(({ source, result, elapsedMs }): SourceReport | SourceReport[] => {
    const count = returned.get(source.name) ?? 0
    const report =
      result instanceof SourceError
        ? reportFailure(source.name, result, elapsedMs, count)
        : reportPage(source.name, result, count, elapsedMs)
    const told = explain ? { ...report, explain: explainSource(source, result) } : report
    return result.gaps === undefined ? told : [told, ...result.gaps.map((gap) => reportGap(source.name, gap))]
  })
  return { complete: outcomes.every(isWhole), sources }
}

/** Listings by the source whose copy is shown; added to what was counted before. */
export const countReturned = (
  items: readonly MergedItem[],
  counts: Map<string, number> = new Map(),
): Map<string, number> => {
  for (const { registry } of items) counts.set(registry, (counts.get(registry) ?? 0) + 1)
  return counts
}

const isWhole = ({ result }: Outcome): boolean =>
  !(result instanceof SourceError) && result.gaps === undefined
