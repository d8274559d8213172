import type { Clock } from '../domain/clock.ts'
import { type FetchPublishers, PUBLISHERS_PAGE } from './publishers.ts'

/** Most requests of one search: 10,000 publishers. */
export const MAX_SEARCH_PAGES = 50
export const MAX_PUBLISHERS = 100_000
/** How long an address is believed, and how long one that was searched in vain is not searched again. */
export const ADDRESS_FRESH_MS = 600_000
export const SEARCH_AGAIN_MS = 60_000
/** How long nobody searches after a search, and after one that failed. */
export const SEARCH_REST_MS = 1_000
export const SEARCH_RETRY_MS = 5_000

/**
 * Which address is behind each `publisher_id` of one Registry. A publisher that is not known is searched from the
 * newest on, as far as need be; one that has been known for long is searched again in the background, since a Registry
 * that begins anew counts from 1 again.
 */
export class PublisherBook {
  readonly #fetch: FetchPublishers
  readonly #clock: Clock
  /** `null` where there is none to be had. */
  readonly #entries = new Map<number, { address: string | null; until: number }>()
  #running: Promise<void> | null = null
  #restUntil = 0
  #hasFailed = false

  constructor(fetch: FetchPublishers, clock: Clock) {
    this.#fetch = fetch
    this.#clock = clock
  }

  /** `null` where it is not known. */
  addressOf(id: number): string | null {
    return this.#entries.get(id)?.address ?? null
  }

  /**
   * Sees to it that these ids are known: what is not is searched.
   * @returns `null` where there is nothing worth waiting for: all are known, nobody searches, or the last search has
   * failed. Else what resolves when the search is over, whatever it found.
   */
  learn(ids: ReadonlySet<number>): Promise<void> | null {
    const now = this.#clock.now()
    const unknown = ids.values().some((id) => !this.#entries.has(id))
    const old = new Set(ids.values().filter((id) => (this.#entries.get(id)?.until ?? 0) <= now))
    if (old.size > 0 && now >= this.#restUntil) {
      this.#running ??= this.#search(old).finally(() => {
        this.#running = null
      })
    }
    return unknown && !this.#hasFailed ? this.#running : null
  }

  async #search(wanted: Set<number>): Promise<void> {
    try {
      const missing = new Set(wanted)
      for (let page = 0; page < MAX_SEARCH_PAGES && missing.size > 0; page++) {
        const { publishers, received } = await this.#fetch(page * PUBLISHERS_PAGE)
        for (const { id, address } of publishers) {
          this.#set(id, address, ADDRESS_FRESH_MS)
          missing.delete(id)
        }
        if (received < PUBLISHERS_PAGE) break
      }
      for (const id of missing) this.#set(id, null, SEARCH_AGAIN_MS)
      this.#restUntil = this.#clock.now() + SEARCH_REST_MS
      this.#hasFailed = false
    } catch {
      // Listings are shown without their publishers, and what was known before stays.
      this.#restUntil = this.#clock.now() + SEARCH_RETRY_MS
      this.#hasFailed = true
    }
  }

  /** Of too many the one that was set first makes room. */
  #set(id: number, address: string | null, freshMs: number): void {
    this.#entries.delete(id)
    this.#entries.set(id, { address, until: this.#clock.now() + freshMs })
    if (this.#entries.size > MAX_PUBLISHERS) this.#entries.delete(this.#entries.keys().next().value!)
  }
}
