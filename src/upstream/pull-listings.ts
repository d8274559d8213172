import { type Gap, heardFrom, joinGaps } from '../domain/gap.ts'
import type { Item } from '../domain/page.ts'
import type { ListingQuery } from '../domain/query.ts'
import { SourceError } from '../domain/source-error.ts'
import type { UpstreamOptions } from '../domain/upstream.ts'
import type { FetchListings } from './fetch-listings.ts'
import { listingKey } from './listing-key.ts'
import type { ListingPage } from './listing-page.ts'
import type { UpstreamItem } from './upstream-item.ts'

/** Listings that a page has in common with the one before: so many may go between two requests without harm. */
export const OVERLAP = 10

/** Requests of one pull, as a multiple of what it takes while nothing changes. */
const MOST_REQUESTS = 3

/** Pages in a row with nothing new in them: new listings can push what is known on to the next page. */
const MOST_BARREN = 2

/** Everything open that an upstream has, less what a gateway says is missing; or that it is more than may be held. */
export type Pull =
  | {
      kind: 'whole'
      listings: ReadonlyMap<string, Item>
      invalid: number
      gaps?: readonly Gap[]
      /** Id of the gateway that it was pulled from, where it says it. */
      teller?: string
    }
  | { kind: 'too_many'; total: number }

/**
 * Reads all open listings of an upstream, a page after the other. Its listings may come and go meanwhile: each page
 * has to begin with one that is known from the page before, so no listing that was open all the time is missed; where
 * it does not, the pull goes back until it does. What comes by twice counts once, as it was last seen. `listings` are
 * by `listingKey`. `via`: gateways that the pull comes from.
 * @throws SourceError as `fetch` does; `bad_envelope` for pages that repeat, hold less than they should or move on
 * faster than they can be read
 */
export const pullListings = async (
  upstream: Pick<UpstreamOptions, 'name' | 'kind' | 'maxListings'>,
  fetch: FetchListings,
  signal: AbortSignal,
  via: readonly string[] = [],
): Promise<Pull> => {
  const query = { ...EVERYTHING_OPEN, via }
  const gathered = new Gathered(upstream)
  for (let offset = 0; ; ) {
    const page = await fetch(query, offset, signal)
    if (page.total > upstream.maxListings) return { kind: 'too_many', total: page.total }
    const next = gathered.add(page, offset)
    if (next === null) return gathered.whole
    offset = next
  }
}

const EVERYTHING_OPEN: ListingQuery = {
  status: 'open',
  publisher: null,
  criteria: [],
  filters: [],
  limit: 200,
  offset: 0,
}

class Gathered {
  readonly #listings = new Map<string, Item>()
  readonly #upstream: Pick<UpstreamOptions, 'name' | 'kind'>
  readonly #seen = new Set<string>()
  #furthest = 0
  #total = 0
  #invalid = 0
  #requests = 0
  #barren = 0
  #gaps: readonly Gap[] | undefined
  #teller: string | undefined

  constructor(upstream: Pick<UpstreamOptions, 'name' | 'kind'>) {
    this.#upstream = upstream
  }

  get whole(): Pull {
    return {
      kind: 'whole',
      listings: this.#listings,
      // Those that two pages had in common were counted twice.
      invalid: Math.min(this.#invalid, Math.max(0, this.#total - this.#seen.size)),
      ...(this.#gaps === undefined ? {} : { gaps: this.#gaps }),
      ...(this.#teller === undefined ? {} : { teller: this.#teller }),
    }
  }

  /** The offset to go on from; `null` at the end. */
  add(page: ListingPage, offset: number): number | null {
    const { items, received, total } = page
    this.#requests++
    this.#teller = page.teller
    this.#gaps = joinGaps(
      this.#gaps,
      page.gaps?.map((gap) => heardFrom(gap, page.teller)),
    )
    const keys = items.map((item) => listingKey(this.#upstream.kind, item))
    const isJoined = offset === 0 || this.#joins(keys[0], page)
    this.#total = total
    const end = offset + received
    if (isJoined) {
      const known = this.#seen.size
      for (const [n, item] of items.entries()) this.#keep(keys[n]!, item)
      // A page that is read again says nothing new of its bad items.
      if (end > this.#furthest) this.#invalid += received - items.length
      const isBarren = end > this.#furthest && items.length > 0 && this.#seen.size === known
      this.#barren = isBarren ? this.#barren + 1 : 0
      if (this.#barren > MOST_BARREN || received > Math.max(0, total - offset))
        throw this.#broken('repeats its pages')
      if (end >= total) return null
    }
    if (end < total && received <= OVERLAP) throw this.#broken('sends less than it says it has')
    if (this.#requests >= mostRequests(page)) throw this.#broken('changes faster than it can be read')
    if (!isJoined) return Math.max(0, offset - Math.max(received, 2 * OVERLAP))
    this.#furthest = Math.max(this.#furthest, end)
    return end - OVERLAP
  }

  /** Whether nothing can lie between what is known and this page. Where bad items hide the joint, the total tells. */
  #joins(first: string | undefined, { items, received, total }: ListingPage): boolean {
    if (first !== undefined && this.#seen.has(first)) return true
    return (received > items.length || received === 0) && total === this.#total
  }

  #keep(key: string, { item, status }: UpstreamItem): void {
    this.#seen.add(key)
    if (status === 'open') this.#listings.set(key, item)
  }

  #broken(what: string): SourceError {
    return new SourceError('bad_envelope', `${this.#upstream.name}: ${what}`)
  }
}

const mostRequests = ({ received, total }: ListingPage): number =>
  MOST_REQUESTS * (Math.ceil(total / Math.max(1, received - OVERLAP)) + 1)
