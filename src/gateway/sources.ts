import { raceAbort, withDeadline } from '../domain/clock.ts'
import type { ListingQuery } from '../domain/query.ts'
import { maySee, type Reader } from '../domain/reader.ts'
import { oncePerObject } from '../domain/remembered.ts'
import type { FoundCopies, HeldAnswer, Holding } from '../domain/source/holding.ts'
import type { Item } from '../domain/source/item.ts'
import { SourceError } from '../domain/source/source-error.ts'
import { EntrepotError } from '../errors.ts'
import type { Scope } from '../listing-index/scope.ts'
import type { ByPrice } from './pages/price-groups.ts'

/** What one source says: facts of what is held, or was found there, or why nothing is shown. */
export type SourceAnswer<Facts = HeldAnswer> = {
  source: Holding
  /** 0 is the best. */
  rank: number
  answer: Facts | SourceError
}

export type AnswerFacts = Omit<FoundCopies, 'copies'> & Pick<HeldAnswer, 'part'>

/** What one source says in an answer. */
export type Outcome = SourceAnswer<AnswerFacts> & {
  elapsedMs: number
  /** What matches there, whether better sources have it or not; 0 where nothing is shown. */
  matched: number
}

/** The reader of a question, and the sources that it names. */
export type Asker = {
  reader: Reader
  /** Default: all visible sources. */
  named?: readonly string[] | null
  /** Only the local Registry is read. */
  isLoop?: boolean
}

export type AskRequest = Asker & {
  signal: AbortSignal
  budgetMs: number
  requireAll?: boolean | undefined
  /** Default: newest first. */
  byPrice?: ByPrice | undefined
}

/** What is asked, and how. */
export type Asking = { query: ListingQuery; request: AskRequest }

/** What one question reads: the rows of the sources that answer it now, and why the others do not. */
export type Asked = {
  query: ListingQuery
  scope: Scope
  /** In the order of the configuration. */
  answers: readonly SourceAnswer[]
  /** By the number of its rows. */
  bySource: ReadonlyMap<number, Holding>
  /** Numbers of the rows of sources that are stale. */
  stale: ReadonlySet<number>
  /** Names and ranks of sources that may have listings which are not known here, the best first. */
  unknown: readonly { name: string; rank: number }[]
  /** Of its rows, and of what rules leave out. */
  version: string
  /** In ms. */
  startedAt: number
}

/** @throws EntrepotError `bad_request`, in the same words for unknown and hidden names */
export function visibleSources(sources: readonly Holding[], { reader, named = null }: Asker) {
  const visible = reader.sources === null ? sources : sources.filter((source) => maySee(reader, source))
  if (named === null) return visible
  const unknown = named.filter((name) => !visible.some((source) => source.name === name))
  if (unknown.length > 0)
    throw new EntrepotError(
      'bad_request',
      `There is no source ${unknown.map((name) => JSON.stringify(name)).join(', ')}: see GET /sources`,
    )
  return visible.filter(({ name }) => named.includes(name))
}

/** The best first: by priority, then in the order of the configuration, which has the own Registry first. */
export const rankSources = oncePerObject((sources: readonly Holding[]): readonly Holding[] =>
  sources.toSorted((a, b) => a.priority - b.priority),
)

/** Waits for all that come within `ms`, or until the caller leaves. */
export async function awaitWithin(
  ms: number,
  caller: AbortSignal,
  waits: readonly Promise<unknown>[],
): Promise<void> {
  await withBudget(ms, caller, (signal) => raceAbort(Promise.all(waits), signal)).catch(() => {})
}

/** Rejects with `timeout` where the work takes longer than `ms`. */
export function withBudget<T>(
  ms: number,
  caller: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const timeoutError = () => new SourceError('timeout', `no answer within the budget of ${ms} ms`)
  return withDeadline({ ms, timeoutError, caller }, work)
}

/** `eu/curated` for a copy from the gateway `eu`. */
export function qualifiedName(source: string, { origin }: Pick<Item, 'origin'>): string {
  return origin === undefined ? source : `${source}/${origin.registry}`
}
