import type { Micros } from '../../../src/domain/timestamp.ts'

/** A time of the world's clock (ms since the Unix epoch), and the number of the latest change at that time. */
export type Moment = { at: number; change: number }

export type Publisher = { address: string; storefrontUrl: string }

export type Terms = {
  gpu_model: string
  gpu_count: number
  /** What a Registry with another vocabulary means by `gpu_model`. */
  model: string
  region: string
  /** Base units of USDC an hour, for the whole offer. */
  price: number | null
}

export type Status = 'open' | 'closed'

/** What one Registry served of one listing from one change to the next. */
export type Version = {
  registry: string
  /** `listing_id`, and the publisher's address, or the storefront where the Registry names no publishers. */
  key: string
  listingId: string
  publisher: Publisher
  createdAt: Micros
  status: Status
  terms: Terms
  /** No gateway shows it. */
  odd?: 'oversized' | 'failing' | undefined
  /** The JSON that is served, `publisher_id` and all. */
  text: string
  since: Moment
  /** `null` while it lasts. */
  until: Moment | null
}

/** How long a version is remembered after its end: longer than any cached data is shown. */
const REMEMBERED_MS = 3_600_000

/** What every Registry held at which time. */
export class History {
  readonly #now: () => number
  #change = 0
  #versions: Version[] = []
  readonly #byListing = new Map<string, Version[]>()
  #unpruned = 0
  /** When anything changed last. */
  lastChange: Moment = { at: Number.NEGATIVE_INFINITY, change: 0 }

  constructor(now: () => number) {
    this.#now = now
  }

  get versions(): readonly Version[] {
    return this.#versions
  }

  /** What a Registry held of one id. */
  of(registry: string, listingId: string): readonly Version[] {
    return this.#byListing.get(`${registry} ${listingId}`) ?? []
  }

  now(): Moment {
    return { at: this.#now(), change: this.#change }
  }

  begin(version: Omit<Version, 'since' | 'until'>): Version {
    const begun = { ...version, since: this.#count(), until: null }
    this.#versions.push(begun)
    this.#index(begun)
    return begun
  }

  end(version: Version): void {
    version.until = this.#count()
    if (++this.#unpruned > 500) this.#prune()
  }

  #count(): Moment {
    this.lastChange = { at: this.#now(), change: ++this.#change }
    return this.lastChange
  }

  #prune(): void {
    this.#unpruned = 0
    const oldest = this.#now() - REMEMBERED_MS
    this.#versions = this.#versions.filter(({ until }) => until === null || until.at >= oldest)
    this.#byListing.clear()
    for (const version of this.#versions) this.#index(version)
  }

  #index(version: Version): void {
    const name = `${version.registry} ${version.listingId}`
    const versions = this.#byListing.get(name)
    if (versions === undefined) this.#byListing.set(name, [version])
    else versions.push(version)
  }
}
