import type { Cache, Kept } from '../cache/cache.ts'
import type { Clock } from '../domain/clock.ts'
import { untilAborted, withDeadline } from '../domain/deadline.ts'
import {
  type CacheDecision,
  type Directives,
  type KeepingPolicy,
  type Lifetime,
  lifetimeOf,
  type Phase,
  phaseAt,
} from '../domain/freshness.ts'
import type { ListingQuery } from '../domain/query.ts'
import { isAboutQuestion, SourceError, type SourceReason } from '../domain/source-error.ts'
import type { UpstreamOptions } from '../domain/upstream.ts'
import type { FetchListings } from '../upstream/fetch-listings.ts'
import type { ListingPage } from '../upstream/listing-page.ts'
import { pageGroup, pageKey } from './page-key.ts'

export type CachedOptions = {
  upstream: Pick<UpstreamOptions, 'name' | 'url' | 'key'>
  fetch: FetchListings
  cache: Cache<ListingPage>
  policy: KeepingPolicy
  /** Longest that one page is fetched for, whether or not somebody still waits for it. */
  flightMs: number
  clock: Clock
  /** From 0 to 1. */
  random: () => number
}

/**
 * The pages of one upstream, kept as it said them (`contract.md` 3.1): given while fresh, given and fetched anew for a
 * while after, and then given only in place of an answer that could not be had.
 *
 * One page is fetched once at a time, however many wait for it. That work has a deadline of its own: a caller who
 * hangs up fails nobody else, and an answer too late for all of them is still kept.
 */
export class CachedPages {
  readonly #options: CachedOptions
  readonly #group: string
  readonly #flights = new Map<string, Promise<Kept<ListingPage>>>()
  readonly #counts: Record<CacheDecision['outcome'], number> = { hit: 0, revalidating: 0, stale: 0, miss: 0 }
  #generation = 0

  constructor(options: CachedOptions) {
    this.#options = options
    this.#group = pageGroup(options.upstream)
  }

  /** Pages given so far by how they were come by, and the memory that the kept ones take up. */
  get counts(): Readonly<Record<CacheDecision['outcome'] | 'bytes', number>> {
    return { ...this.#counts, bytes: this.#options.cache.bytes(this.#group) }
  }

  /** Pages that are being fetched. */
  get underWay(): number {
    return this.#flights.size
  }

  /** Forgets every page, and what is being fetched now will not be kept. */
  drop(): void {
    this.#generation++
    this.#options.cache.drop(this.#group).catch(ignore)
  }

  readonly fetch: FetchListings = async (query, offset, signal) => {
    const key = pageKey(query, offset)
    const kept = await this.#find(key)
    const phase = this.#phaseOf(kept)
    if (kept !== null && phase !== 'gone' && mayGive(phase, query)) {
      if (phase === 'revalidate' && query.caching === undefined) this.#fly(key, query, offset).catch(ignore)
      return this.#give(kept, OUTCOMES[phase])
    }
    if (query.caching === 'only-if-cached') throw this.#nothingKept()
    try {
      signal.throwIfAborted()
      return this.#give(await untilAborted(this.#fly(key, query, offset), signal), 'miss')
    } catch (error) {
      if (kept === null || this.#phaseOf(kept) === 'gone' || !couldNotBeHad(error)) throw error
      return this.#give(kept, 'stale', error.reason)
    }
  }

  async #find(key: string): Promise<Kept<ListingPage> | null> {
    try {
      return await this.#options.cache.get(this.#group, key)
    } catch {
      // A cache that fails has nothing.
      return null
    }
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
      isCurrent: () => generation === this.#generation && clock.now() < lifetime.staleAt,
    }
    return { ...value, freshness }
  }

  /** Joins the fetching of that page, or begins it. */
  #fly(key: string, query: ListingQuery, offset: number): Promise<Kept<ListingPage>> {
    const name = `${this.#generation} ${key}`
    const underWay = this.#flights.get(name)
    if (underWay !== undefined) return underWay
    const flight = this.#fetchAndKeep(key, query, offset).finally(() => this.#flights.delete(name))
    this.#flights.set(name, flight)
    return flight
  }

  async #fetchAndKeep(key: string, query: ListingQuery, offset: number): Promise<Kept<ListingPage>> {
    const { upstream, fetch, cache, policy, flightMs, clock, random } = this.#options
    const generation = this.#generation
    const late = new SourceError('timeout', `${upstream.name}: no answer within ${flightMs} ms`)
    const caller = new AbortController().signal
    const page = await withDeadline({ ms: flightMs, late, caller }, (signal) =>
      untilAborted(fetch(query, offset, signal), signal),
    )
    const now = clock.now()
    const lifetime = lifetimeOf(policy, page.directives ?? NO_DIRECTIVES, { now, random: random() })
    if (lifetime === null) return { value: page, lifetime: shownOnce(page, now) }
    const kept = { value: page, lifetime }
    if (generation === this.#generation) cache.set(this.#group, key, kept).catch(ignore)
    return kept
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

const NO_DIRECTIVES: Directives = { mayStore: true, maxAgeSeconds: null, mayServeStale: true, ageSeconds: 0 }

/** The lifetime of what is not kept: over when it begins. */
const shownOnce = ({ directives }: ListingPage, now: number): Lifetime => ({
  fetchedAt: now - (directives?.ageSeconds ?? 0) * 1000,
  staleAt: now,
  waitAt: now,
  deleteAt: now,
})

/** What fails here is told to whoever waits for it; nobody else needs to hear. */
const ignore = (): void => {}
