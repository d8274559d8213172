import { type Clock, raceAbortAfterTick, systemClock, withDeadline } from '../domain/clock.ts'
import type { TokenTable } from '../domain/price/token.ts'
import type { ListingQuery } from '../domain/query.ts'
import { maySee, type Reader } from '../domain/reader.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import type { Reading, ReadingInfo } from '../domain/source/reading.ts'
import { SourceError } from '../domain/source/source-error.ts'
import type { Attributes } from '../domain/trace.ts'
import { EntrepotError } from '../errors.ts'
import type { Vocabulary } from '../vocabulary/vocabulary.ts'
import type { ItemPrices } from './by-price/item-prices.ts'
import type { FindBounds } from './by-price/price-bounds.ts'
import type { ByPrice } from './by-price/price-order.ts'
import type { Holdings } from './holdings.ts'

export type Outcome = Answer<ReadingInfo> & {
  source: NamedSource
}

type Answer<Result> = { elapsedMs: number; result: Result | SourceError }

/** What every kind of merge is made of. */
export type MergeSettings = {
  sources: readonly NamedSource[]
  /** Of these sources. */
  holdings: Holdings
  budgetMs: number
  clock: Clock
  tokens: TokenTable
  vocabulary: Vocabulary
  itemPrices: ItemPrices
  boundsOf: FindBounds
  /** Details of a failure, for reports. Absent: readers see its reason alone. */
  describeFailure?: ((failure: SourceError, source: string) => string) | undefined
}

export type MergeRequest = {
  reader: Reader
  signal: AbortSignal
  /** Default: all visible sources. */
  named?: readonly string[] | null
  /** Default: that of the settings. */
  budgetMs?: number | undefined
  requireAll?: boolean | undefined
  /** Only the local Registry is read. */
  isLoop?: boolean
  /** Default: newest first. */
  byPrice?: ByPrice | undefined
}

/** @throws EntrepotError `bad_request`, in the same words for unknown and hidden names */
export function visibleSources(
  sources: readonly NamedSource[],
  { reader, named = null, isLoop = false }: MergeRequest,
): NamedSource[] {
  const visible = sources.filter((source) => maySee(reader, source))
  const unknown = named?.filter((name) => !visible.some((source) => source.name === name)) ?? []
  if (unknown.length > 0)
    throw new EntrepotError(
      'bad_request',
      `There is no source ${unknown.map((name) => JSON.stringify(name)).join(', ')}: see GET /sources`,
    )
  const selected = named === null ? visible : visible.filter(({ name }) => named.includes(name))
  return isLoop ? selected.map(skipAsLoop) : selected
}

function skipAsLoop(source: NamedSource): NamedSource {
  if (source.mode === 'local') return source
  const error = new SourceError('loop', 'the query has been through this gateway before')
  const skip = () => Promise.reject(error)
  return { ...source, read: skip, select: skip, held: { ...source.held, failure: () => error } }
}

/** The best first: by priority, then in the order of the configuration, which has the own Registry first. */
export function rankSources<S extends Pick<NamedSource, 'priority'>>(sources: readonly S[]): S[] {
  return sources.toSorted((a, b) => a.priority - b.priority)
}

/** Sources without an answer after `ms` have failed as `timeout`. */
export function withBudget<T>(
  ms: number,
  caller: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const timeoutError = () => new SourceError('timeout', `no answer within the budget of ${ms} ms`)
  return withDeadline({ ms, timeoutError, caller }, work)
}

/** What a source answers, or why there is no answer: a `SourceError` of the source, or of the signal when it aborts. */
export async function askSource<Result>(
  ask: () => Promise<Result>,
  signal: AbortSignal,
): Promise<Answer<Result>> {
  const started = performance.now()
  const result = await raceAbortAfterTick(ask(), signal).catch((error: unknown) => {
    if (error instanceof SourceError) return error
    throw error
  })
  return { result, elapsedMs: performance.now() - started }
}

export function traceSource(source: NamedSource): NamedSource {
  const { read, select } = source
  return {
    ...source,
    read: (query, range, signal) => inSourceSpan(source, query, (traced) => read(traced, range, signal)),
    select: (query, signal) => inSourceSpan(source, query, (traced) => select(traced, signal)),
  }
}

function describeAnswer(answer: ReadingInfo & Partial<Pick<Reading, 'listings'>>): Attributes {
  const { stale, reason, total, listings, asOf } = answer
  return {
    'entrepot.source.state': stale ? 'stale' : 'loaded',
    'entrepot.source.matched': total,
    ...(listings && { 'entrepot.source.items': listings.length }),
    'entrepot.source.age_seconds': Math.max(0, Math.floor((systemClock.monotonic() - asOf) / 1000)),
    ...(reason && { 'entrepot.source.reason': reason }),
  }
}

/** Without a span `ask` gets the very query, by which a source knows what it has read for it. */
async function inSourceSpan<Answer extends ReadingInfo>(
  { name, mode }: NamedSource,
  query: ListingQuery,
  ask: (query: ListingQuery) => Promise<Answer>,
): Promise<Answer> {
  const { begin } = query.trace ?? {}
  if (begin === undefined) return ask(query)
  const about = { 'entrepot.source.name': name, 'entrepot.source.mode': mode }
  const span = begin(`source ${name}`, 'internal', about)
  try {
    const answer = await ask({ ...query, trace: span })
    span.set(describeAnswer(answer))
    span.end()
    return answer
  } catch (error) {
    span.end(error instanceof SourceError ? error.reason : 'fault')
    throw error
  }
}
