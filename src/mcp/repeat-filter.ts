import { createHmac, randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Discovery, Search, SearchResult } from '../gateway/discovery.ts'
import { at, parseJson, textAt } from '../json/value.ts'

/** Remembered cursors, and listings of each: at most 16 MB together. */
const MAX_CURSORS = 500
const MAX_LISTINGS = 2000

/**
 * Drops listings that earlier pages have shown, which copies far apart may repeat. Matches by publisher, or
 * by storefront where it is unknown. Lost at a restart, and not shared with replicas.
 */
export class RepeatFilter {
  readonly #secret = randomBytes(16)
  readonly #digests = new LRUCache<string, BigUint64Array>({ max: MAX_CURSORS })

  dropRepeats(discovery: Discovery): Discovery {
    return {
      ...discovery,
      search: async (search, signal) => this.#drop(search, await discovery.search(search, signal)),
    }
  }

  #drop(search: Search, found: SearchResult): SearchResult {
    const earlier = search.cursor === null ? undefined : this.#digests.get(this.#keyOf(search, search.cursor))
    const seen = new Set(earlier)
    const items = found.items.filter((item) => this.#add(seen, item))
    if (found.nextCursor !== undefined && seen.size <= MAX_LISTINGS * DIGESTS)
      this.#digests.set(this.#keyOf(search, found.nextCursor), BigUint64Array.from(seen))
    return { ...found, items }
  }

  #keyOf({ status, publisher, filters, sources }: Search, cursor: string): string {
    return String(this.#digest(JSON.stringify([status, publisher, filters, sources, cursor])))
  }

  /** @returns whether it is new */
  #add(seen: Set<bigint>, item: string): boolean {
    const listing = parseJson(item)
    const id = textAt(listing, 'listing_id')
    const publisher = textAt(at(listing, '_meta'), 'publisher')
    const storefront = textAt(listing, 'storefront_url')
    const digest = (kind: string, who: string | null): bigint => this.#digest(JSON.stringify([kind, id, who]))
    const byPublisher = digest('publisher', publisher)
    const byStorefront = digest('storefront', storefront)
    const byStorefrontOnly = digest('storefront of an unknown publisher', storefront)
    const isRepeat =
      (publisher !== null && seen.has(byPublisher)) ||
      (storefront !== null && seen.has(publisher === null ? byStorefront : byStorefrontOnly))
    if (publisher !== null) seen.add(byPublisher)
    seen.add(byStorefront)
    if (publisher === null) seen.add(byStorefrontOnly)
    return !isRepeat
  }

  /** Keyed: no seller can construct two listings with one digest. */
  #digest(text: string): bigint {
    return createHmac('sha256', this.#secret).update(text).digest().readBigUInt64LE()
  }
}

const DIGESTS = 2
