import type { Cache, Kept } from '../cache/cache.ts'
import type { Clock } from '../domain/clock.ts'
import { untilAborted, withDeadline } from '../domain/deadline.ts'
import {
  type Directives,
  type KeepingPolicy,
  type Lifetime,
  lifetimeOf,
  phaseAt,
} from '../domain/freshness.ts'
import type { ListingQuery } from '../domain/query.ts'
import { SourceError } from '../domain/source-error.ts'
import type { FetchListings } from '../upstream/fetch-listings.ts'
import type { ListingPage } from '../upstream/listing-page.ts'

export type FlightOptions = {
  /** The upstream's. */
  name: string
  fetch: FetchListings
  cache: Cache<ListingPage>
  policy: KeepingPolicy
  /** Longest wait for another replica that is fetching the same page. */
  turnMs: number
  /** Longest that one page is fetched for, whether or not somebody still waits for it. */
  flightMs: number
  clock: Clock
  /** From 0 to 1. */
  random: () => number
}

/** `isFetched`: from the upstream; else another replica had just fetched it. */
export type Landed = { kept: Kept<ListingPage>; isFetched: boolean }

/** How often it is looked whether another replica has done it. */
const TURN_POLL_MS = 25

/**
 * Fetches pages and keeps them, one page once at a time, here and among replicas that share the cache. The work has a
 * deadline of its own: a caller who hangs up fails nobody else, and an answer too late for all of them is still kept.
 */
export class Flights {
  readonly #options: FlightOptions
  readonly #group: string
  readonly #underWay = new Map<string, Promise<Landed>>()
  #generation = 0

  constructor(group: string, options: FlightOptions) {
    this.#group = group
    this.#options = options
  }

  get underWay(): number {
    return this.#underWay.size
  }

  /** What is under way will not be kept, and nobody joins it any more. */
  forsake(): void {
    this.#generation++
  }

  /** Joins the fetching of that page, or begins it. */
  join(key: string, query: ListingQuery, offset: number): Promise<Landed> {
    const name = `${this.#generation} ${query.caching ?? ''} ${key}`
    const joined = this.#underWay.get(name)
    if (joined !== undefined) return joined
    const flight = this.#fly(key, query, offset).finally(() => this.#underWay.delete(name))
    this.#underWay.set(name, flight)
    return flight
  }

  async #fly(key: string, query: ListingQuery, offset: number): Promise<Landed> {
    if (query.caching === 'no-cache') return { kept: await this.#fetch(key, query, offset), isFetched: true }
    const { clock } = this.#options
    const { giveBack, found } = await this.#turn(key)
    try {
      const isFresh = found !== null && phaseAt(found.lifetime, clock.now()) === 'fresh'
      if (isFresh) return { kept: found, isFetched: false }
      return { kept: await this.#fetch(key, query, offset), isFetched: true }
    } finally {
      giveBack()
    }
  }

  /** Waits for whoever else is fetching it, but not for ever, and sees what that has brought. */
  async #turn(key: string): Promise<{ giveBack: () => void; found: Kept<ListingPage> | null }> {
    const { cache, clock, turnMs, flightMs } = this.#options
    const end = clock.now() + turnMs
    const claim = () => cache.claim(this.#group, key, flightMs)
    const lookUp = () => cache.lookUp(this.#group, key)
    // In this order, and in one round trip: who has the claim finds what was kept before it was given back.
    const [first, found] = await Promise.all([claim(), lookUp()])
    if (first !== null) return { giveBack: first, found }
    while (clock.now() < end) {
      await new Promise<void>((resolve) => clock.after(TURN_POLL_MS, resolve))
      const giveBack = await claim()
      if (giveBack !== null) return { giveBack, found: await lookUp() }
    }
    return { giveBack: () => {}, found: await lookUp() }
  }

  async #fetch(key: string, query: ListingQuery, offset: number): Promise<Kept<ListingPage>> {
    const { name, fetch, cache, policy, flightMs, clock, random } = this.#options
    const generation = this.#generation
    const late = new SourceError('timeout', `${name}: no answer within ${flightMs} ms`)
    const caller = new AbortController().signal
    const page = await withDeadline({ ms: flightMs, late, caller }, (signal) =>
      untilAborted(fetch(query, offset, signal), signal),
    )
    const now = clock.now()
    const directives = page.directives ?? NO_DIRECTIVES
    // What is not complete is shown once: what is kept, and is, is not to make room for it.
    const lifetime =
      page.gaps === undefined ? lifetimeOf(policy, directives, { now, random: random() }) : null
    if (lifetime === null) return { value: page, lifetime: shownOnce(page, now) }
    const kept = { value: page, lifetime }
    if (generation === this.#generation) await cache.set(this.#group, key, kept)
    return kept
  }
}

const NO_DIRECTIVES: Directives = { mayStore: true, maxAgeSeconds: null, mayServeStale: true, ageSeconds: 0 }

/** The lifetime of what is not kept: over when it begins. */
const shownOnce = ({ directives }: ListingPage, now: number): Lifetime => ({
  fetchedAt: now - (directives?.ageSeconds ?? 0) * 1000,
  staleAt: now,
  waitAt: now,
  deleteAt: now,
})
