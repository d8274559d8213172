import type { Kept } from '../cache/cache.ts'
import { untilAborted } from '../domain/deadline.ts'
import { type CacheDecision, type Phase, phaseAt } from '../domain/freshness.ts'
import type { ListingQuery } from '../domain/query.ts'
import { isAboutQuestion, SourceError, type SourceReason } from '../domain/source-error.ts'
import type { UpstreamOptions } from '../domain/upstream.ts'
import type { FetchListings } from '../upstream/fetch-listings.ts'
import type { ListingPage } from '../upstream/listing-page.ts'
import { type FlightOptions, Flights } from './flights.ts'
import { pageGroup, pageKey } from './page-key.ts'

export type CachedOptions = Omit<FlightOptions, 'name' | 'turnMs'> & {
  upstream: Pick<UpstreamOptions, 'name' | 'url' | 'kind' | 'key' | 'timeoutMs'>
}

/**
 * The pages of one upstream, kept as it said them (`contract.md` 3.1): given while fresh, given and fetched anew for a
 * while after, and then given only in place of an answer that could not be had.
 */
export class CachedPages {
  readonly #options: CachedOptions
  readonly #group: string
  readonly #flights: Flights
  readonly #counts: Record<Outcome, number> = { hit: 0, revalidating: 0, stale: 0, miss: 0 }
  #generation = 0

  constructor(options: CachedOptions) {
    const { name, timeoutMs: turnMs } = options.upstream
    this.#options = options
    this.#group = pageGroup(options.upstream)
    this.#flights = new Flights(this.#group, { ...options, name, turnMs })
  }

  /** Pages given so far by how they were come by, and the memory that the kept ones take up. */
  get counts(): Readonly<Record<Outcome | 'bytes', number>> {
    return { ...this.#counts, bytes: this.#options.cache.bytes(this.#group) }
  }

  /** Pages that are being fetched. */
  get underWay(): number {
    return this.#flights.underWay
  }

  /** Forgets every page, and what is being fetched now will not be kept. */
  drop(): void {
    this.#generation++
    this.#flights.forsake()
    void this.#options.cache.drop(this.#group)
  }

  readonly fetch: FetchListings = async (query, offset, signal) => {
    const { cache } = this.#options
    const key = pageKey(query, offset)
    const kept = (await cache.get(this.#group, key)) ?? (await cache.lookUp(this.#group, key))
    const phase = this.#phaseOf(kept)
    if (kept !== null && phase !== 'gone' && mayGive(phase, query)) {
      if (phase === 'revalidate' && query.caching === undefined) this.#renew(key, query, offset)
      return this.#give(kept, OUTCOMES[phase])
    }
    if (query.caching === 'only-if-cached') throw this.#nothingKept()
    try {
      signal.throwIfAborted()
      const landed = await untilAborted(this.#flights.join(key, query, offset), signal)
      return this.#give(landed.kept, landed.isFetched ? 'miss' : 'hit')
    } catch (error) {
      if (kept === null || this.#phaseOf(kept) === 'gone' || !couldNotBeHad(error)) throw error
      return this.#give(kept, 'stale', error.reason)
    }
  }

  /** In the background: whoever waits for the page then is told what fails here. */
  #renew(key: string, query: ListingQuery, offset: number): void {
    this.#flights.join(key, query, offset).catch(() => {})
  }

  #phaseOf(kept: Kept<ListingPage> | null): Phase {
    return kept === null ? 'gone' : phaseAt(kept.lifetime, this.#options.clock.now())
  }

  #give({ value, lifetime }: Kept<ListingPage>, outcome: Outcome, reason?: SourceReason): ListingPage {
    this.#counts[outcome]++
    const { clock } = this.#options
    const generation = this.#generation
    const now = clock.now()
    const freshness = {
      ageSeconds: Math.max(0, now - lifetime.fetchedAt) / 1000,
      stale: outcome === 'stale',
      ...(reason === undefined ? {} : { reason }),
      cache: { outcome, ttlSeconds: Math.round((lifetime.staleAt - now) / 1000) },
      isCurrent: (now = clock.now()) => generation === this.#generation && now < lifetime.staleAt,
    }
    return { ...value, freshness }
  }

  /** RFC 9111 5.2.1.7 answers 504 (Gateway Timeout). */
  #nothingKept(): SourceError {
    return new SourceError('timeout', `${this.#options.upstream.name}: nothing kept, and not to be asked`)
  }
}

type Outcome = CacheDecision['outcome']

const OUTCOMES = { fresh: 'hit', revalidate: 'revalidating', if_error: 'stale' } as const

/** Without asking the upstream first. */
const mayGive = (phase: Phase, { caching }: ListingQuery): boolean => {
  if (caching === 'only-if-cached') return true
  return caching === undefined && phase !== 'if_error'
}

/**
 * Where the upstream did answer, its answer stands, also when it is a no: what it shows us no longer is not shown,
 * and what it cannot filter it cannot have filtered.
 */
const couldNotBeHad = (error: unknown): error is SourceError =>
  error instanceof SourceError && error.reason !== 'unauthorized' && !isAboutQuestion(error.reason)
