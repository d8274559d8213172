import { listingKey } from '../domain/listing-identity.ts'
import { MAX_TIMER_MS } from '../domain/max-timer.ts'
import { at, type JsonValue, listAt, numberAt, textAt } from '../json/value.ts'
import { newStates } from '../wire/new-states.ts'
import type { SourceReport } from '../wire/source.ts'
import { walkPages } from './page-walk.ts'
import { ProblemError, readReports } from './problem-error.ts'

/** A change of the answer to a query. `position`: the `since` of a follower that goes on behind this change. */
export type Change<Listing> = { position: string } & (
  | { type: 'listing'; key: string; listing_id: string; publisher: string | null; listing: Listing }
  /** `unchecked`: sources that are not followed; one of them may have the listing. */
  | { type: 'removed'; key: string; listing_id: string; publisher: string | null; unchecked?: string[] }
  /** Another state of a source, whose listings stay. */
  | { type: 'source'; source: SourceReport }
  /** The position is not good any more: all listings that match follow as changes. */
  | { type: 'reset' }
)

export type FollowOptions = {
  /** Position to go on from. Default: now. */
  since?: string | undefined
  signal?: AbortSignal | undefined
  /** A request has failed, and is repeated after so many milliseconds. */
  onRetry?: ((failure: ProblemError, afterMs: number) => void) | undefined
}

/** The JSON of a path relative to the base URL, asked with `Prefer: wait` (RFC 7240). Rejects with a `ProblemError`. */
export type Ask = (path: string, waitSeconds?: number) => Promise<JsonValue>

/** Longest wait of a service for a change. */
const WAIT_SECONDS = 30
/** Before the next request where a service answers at once that nothing has changed. */
const POLL_MS = 5000
const MIN_RETRY_MS = 1000
const MAX_RETRY_MS = 30_000

/**
 * Follows `GET /changes` without an end: waits, repeats failed requests, and reads all listings again after a 410. A source that fails
 * removes nothing.
 * @param search parameters of the query
 * @throws ProblemError for a request that is refused, such as 400, 401 or 404; the reason of `signal`
 */
export async function* followChanges<Listing>(
  ask: Ask,
  search: string,
  { since, signal, onRetry }: FollowOptions = {},
): AsyncGenerator<Change<Listing>, void> {
  const place: Place = { position: since, mustRead: false, hasMore: true, states: new Map() }
  for (let failures = 0; ; ) {
    signal?.throwIfAborted()
    try {
      if (place.mustRead) yield* readAgain<Listing>(ask, search, place)
      else yield* readNext<Listing>(ask, search, place, signal)
      failures = 0
    } catch (failure) {
      const isGone = failure instanceof ProblemError && failure.status === 410
      if (!(failure instanceof ProblemError) || !(isGone || isPassing(failure))) throw failure
      place.mustRead ||= isGone
      if (failures++ === 0 && isGone) continue
      const afterMs = retryMs(failure, failures)
      onRetry?.(failure, afterMs)
      await pause(afterMs, signal)
    }
  }
}

type Place = {
  /** `undefined` before the first answer. */
  position: string | undefined
  /** Whether the position is gone. */
  mustRead: boolean
  hasMore: boolean
  /** Of sources. */
  states: Map<string, string>
}

async function* readNext<Listing>(
  ask: Ask,
  search: string,
  place: Place,
  signal: AbortSignal | undefined,
): AsyncGenerator<Change<Listing>, void> {
  const askedAt = performance.now()
  const since = place.position === undefined ? '' : `since=${encodeURIComponent(place.position)}`
  const path = `changes?${[since, search].filter(Boolean).join('&')}`
  const answer = readChanges<Listing>(await ask(path, place.hasMore ? undefined : WAIT_SECONDS))
  const before = place.position ?? answer.position
  for (const source of newStates(answer.sources, place.states))
    yield { type: 'source', source, position: before }
  // A change that comes twice is harmless, one that is left out is not: the position moves with the last one.
  for (const [n, change] of answer.changes.entries())
    yield { ...change, position: n + 1 < answer.changes.length ? before : answer.position }
  const isIdle = answer.changes.length === 0 && !place.hasMore
  place.position = answer.position
  place.hasMore = answer.hasMore
  if (isIdle && performance.now() - askedAt < MIN_RETRY_MS) await pause(POLL_MS, signal)
}

async function* readAgain<Listing>(
  ask: Ask,
  search: string,
  place: Place,
): AsyncGenerator<Change<Listing>, void> {
  const { position } = readChanges(await ask(`changes?${search}`))
  yield { type: 'reset', position }
  for await (const change of readAll<Listing>(ask, search)) yield { ...change, position }
  Object.assign(place, { position, mustRead: false, hasMore: true })
}

type ListingChange<Listing> = Extract<Change<Listing>, { type: 'listing' | 'removed' }>
type WithoutPosition<One> = One extends { position: string } ? Omit<One, 'position'> : never

type Answer<Listing> = {
  changes: WithoutPosition<ListingChange<Listing>>[]
  position: string
  hasMore: boolean
  sources: SourceReport[]
}

/** Unknown types of changes are passed over. @throws ProblemError */
function readChanges<Listing>(body: JsonValue): Answer<Listing> {
  const position = textAt(body, 'position')
  if (position === null) throw new ProblemError(200, { detail: 'The answer is not a list of changes.' })
  const changes = listAt(body, 'changes').flatMap((change): Answer<Listing>['changes'] => {
    const [key, listingId] = [textAt(change, 'key'), textAt(change, 'listing_id')]
    if (key === null || listingId === null) return []
    const about = { key, listing_id: listingId, publisher: textAt(change, 'publisher') }
    const type = textAt(change, 'type')
    if (type === 'listing') return [{ type, ...about, listing: at(change, 'listing') as Listing }]
    if (type !== 'removed') return []
    const unchecked = listAt(change, 'unchecked').filter((name) => typeof name === 'string')
    return [{ type, ...about, ...(unchecked.length > 0 && { unchecked }) }]
  })
  return { changes, position, hasMore: at(body, 'more') === true, sources: readReports(body) }
}

/** Failures after which the same request may pass. */
const isPassing = ({ status }: ProblemError): boolean =>
  status === 0 || status === 408 || status === 429 || status >= 500

function retryMs({ retryAfter }: ProblemError, failures: number): number {
  const backoffMs = Math.min(MIN_RETRY_MS * 2 ** (failures - 1), MAX_RETRY_MS)
  return retryAfter === null ? backoffMs : Math.min(retryAfter * 1000, MAX_TIMER_MS)
}

async function* readAll<Listing>(
  ask: Ask,
  search: string,
): AsyncGenerator<WithoutPosition<ListingChange<Listing>>, void> {
  const publishers = new Map<number, Promise<string | null>>()
  for await (const { items } of walkPages(ask, search))
    for (const listing of items) {
      const registry = textAt(listing, '_meta', 'registry')
      const publisher =
        registry === null
          ? await publisherOf(numberAt(listing, 'publisher_id'), publishers, ask)
          : textAt(listing, '_meta', 'publisher')
      const identity = { publisher, storefrontUrl: textAt(listing, 'storefront_url') }
      const listingId = textAt(listing, 'listing_id') ?? ''
      const key = listingKey(listingId, identity, registry ?? 'local')
      yield { type: 'listing', key, listing_id: listingId, publisher, listing: listing as Listing }
    }
}

/** Rows of a plain Registry have the number of their publisher alone. */
function publisherOf(
  id: number | null,
  publishers: Map<number, Promise<string | null>>,
  ask: Ask,
): Promise<string | null> {
  if (id === null) return Promise.resolve(null)
  const publisher = publishers.get(id) ?? ask(`publishers/${id}`).then((body) => textAt(body, 'identifier'))
  publishers.set(id, publisher)
  return publisher
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal?.addEventListener('abort', stop, { once: true })
  })
}
