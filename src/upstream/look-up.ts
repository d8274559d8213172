import { LRUCache } from 'lru-cache'
import { type Clock, raceAbort } from '../domain/clock.ts'
import type { FoundCopies, OneListing } from '../domain/source/holding.ts'
import { hasPassed } from '../domain/source/item.ts'
import { SourceError } from '../domain/source/source-error.ts'
import type { FetchPage } from './page/fetch-page.ts'
import type { ListingPage } from './page/listing-page.ts'
import type { PublisherDirectory } from './publisher-directory.ts'
import { UNFILTERED } from './push-down.ts'

type LookUpOptions = {
  name: string
  fetch: FetchPage
  publishers: PublisherDirectory
  /** How long an answer counts. */
  freshMs: number
  clock: Clock
}

/** Reads the copies of one listing, of any status, from the upstream itself. Rejects with a SourceError. */
export type LookUp = (question: OneListing, signal: AbortSignal) => Promise<FoundCopies>

type Answer = { page: ListingPage; askedAt: number }

/** Of the pages that are kept. */
const MAX_KEPT_BYTES = 16 * 1024 * 1024
const ENTRY_BYTES = 1000
/** Requests that one upstream is sent at once; a further one fails as `budget_spent`. */
const MAX_IN_FLIGHT = 64
const ONE = { offset: 0, limit: 1 }

/** Answers are kept while fresh. Readers of one listing share a request, which goes on when a reader leaves. */
export function createLookUp({ name, fetch, publishers, freshMs, clock }: LookUpOptions): LookUp {
  const inFlight = new Map<string, Promise<Answer>>()
  const kept = new LRUCache<string, Answer>({
    maxSize: MAX_KEPT_BYTES,
    sizeCalculation: ({ page }) => page.bytes.length + ENTRY_BYTES,
  })
  const isFresh = ({ askedAt }: Answer): boolean => Math.abs(clock.monotonic() - askedAt) < freshMs

  return async (query, signal) => {
    const { listingId, via = [], caching } = query
    const key = [listingId, ...via].join('\n')
    const before = caching === 'no-cache' ? undefined : kept.get(key)
    const hit = before !== undefined && isFresh(before) ? before : null
    // RFC 9111 section 5.2.1.7: answered with 504 (Gateway Timeout).
    if (hit === null && caching === 'only-if-cached')
      throw new SourceError('timeout', `${name}: nothing is cached`)
    return describe(hit ?? (await raceAbort(ask(key, query), signal)), via)
  }

  function ask(key: string, { listingId, via, trace }: OneListing): Promise<Answer> {
    const running = inFlight.get(key)
    if (running !== undefined) return running
    if (inFlight.size >= MAX_IN_FLIGHT)
      return Promise.reject(
        new SourceError('budget_spent', `${name}: ${MAX_IN_FLIGHT} listings are requested`),
      )
    const asking = fetchOne().finally(() => inFlight.delete(key))
    inFlight.set(key, asking)
    return asking

    async function fetchOne(): Promise<Answer> {
      const askedAt = clock.monotonic()
      const page = await fetch({ ...UNFILTERED, listingId, ...(via && { via }), trace }, ONE)
      const answer = { page, askedAt }
      if (page.missing === undefined) kept.set(key, answer)
      return answer
    }
  }

  async function describe(answer: Answer, via: readonly string[]): Promise<FoundCopies> {
    const { page, askedAt } = answer
    const { missing, ageSeconds } = page
    const items = page.items.filter((item) => !hasPassed(item, via))
    const hasEnded = await publishers.attribute(items)
    const isDoubted = !hasEnded || publishers.isBehind
    return {
      copies: items,
      asOf: askedAt - ageSeconds * 1000,
      stale: false,
      freshUntil: askedAt + freshMs,
      isCurrent: hasEnded && missing === undefined ? () => isFresh(answer) : undefined,
      isAttributed: !isDoubted || items.every(({ publisher }) => publisher !== null),
      missing,
    }
  }
}
