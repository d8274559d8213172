import type { Reader } from '../domain/api-key.ts'
import { type Clock, raceAbortAfterTick, withDeadline } from '../domain/clock.ts'
import type { ListingQuery } from '../domain/query.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import type { Reading, ReadingInfo, Visibility } from '../domain/source/reading.ts'
import { SourceError } from '../domain/source/source-error.ts'
import { EntrepotError } from '../errors.ts'
import type { ByPrice } from './by-price/price-order.ts'

export type Outcome = Answer<ReadingInfo> & { source: NamedSource }

type Answer<Result> = { elapsedMs: number; result: Result | SourceError }

/** What every kind of merge is made of. */
export type MergeSettings = { sources: readonly NamedSource[]; budgetMs: number; clock: Clock }

export type MergeRequest = { reader: Reader; signal: AbortSignal; options?: MergeOptions }

export type MergeOptions = {
  /** Default: all visible sources. */
  named?: readonly string[] | null
  /** Default: the gateway's. */
  budgetMs?: number | undefined
  requireAll?: boolean
  /** Only the local Registry is read. */
  isLoop?: boolean
  /** Default: newest first. */
  byPrice?: ByPrice | undefined
}

/** Private sources are hidden from readers without a valid key. */
export function maySee(reader: Reader, { visibility }: { visibility: Visibility }): boolean {
  return visibility === 'public' || reader.kind === 'key'
}

/** @throws EntrepotError `bad_request`, in the same words for unknown and hidden names */
export function visibleSources(
  sources: readonly NamedSource[],
  reader: Reader,
  { named = null, isLoop = false }: MergeOptions,
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
  return { ...source, read: skip, select: skip }
}

/** This order decides ties of position. */
export function rankSources<S extends Pick<NamedSource, 'name' | 'priority'>>(sources: readonly S[]): S[] {
  return sources.toSorted(
    (a, b) => a.priority - b.priority || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
  )
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
  const { select } = source
  return {
    ...source,
    // A snapshot that is too large becomes live.
    get mode() {
      return source.mode
    },
    read: (query, range, signal) =>
      inSourceSpan(source, query, (traced) => source.read(traced, range, signal)),
    ...(select && {
      select: (query, signal) => inSourceSpan(source, query, (traced) => select(traced, signal)),
    }),
  }
}

async function inSourceSpan<Answer extends ReadingInfo & Partial<Pick<Reading, 'listings'>>>(
  { name, mode }: NamedSource,
  query: ListingQuery,
  ask: (query: ListingQuery) => Promise<Answer>,
): Promise<Answer> {
  const { begin } = query.trace ?? {}
  if (begin === undefined) return ask(query)
  const span = begin(`source ${name}`, 'internal', {
    'entrepot.source.name': name,
    'entrepot.source.mode': mode,
  })
  try {
    const answer = await ask({ ...query, trace: span })
    const { stale, reason, total, listings, asOf, cache } = answer
    span.set({
      'entrepot.source.state': stale ? 'stale' : 'loaded',
      'entrepot.source.matched': total,
      ...(listings && { 'entrepot.source.items': listings.length }),
      'entrepot.source.age_seconds': Math.max(0, Math.floor((Date.now() - asOf) / 1000)),
      ...(cache && { 'entrepot.source.cache': cache.outcome }),
      ...(reason && { 'entrepot.source.reason': reason }),
    })
    span.end()
    return answer
  } catch (error) {
    span.end(error instanceof SourceError ? error.reason : 'fault')
    throw error
  }
}
