import type { ApiKey } from '../domain/api-key.ts'
import { objectMembers } from '../domain/json-members.ts'
import type { ListingRecord } from '../domain/listing.ts'
import type { Publisher } from '../domain/publisher.ts'
import type { Filter } from '../filter-spec/filter.ts'
import { ListingIndex } from '../listing-index/listing-index.ts'
import type { Change } from '../store/store.ts'
import type { BlockSetting } from './build-block.ts'
import { RowBuffer } from './row-buffer.ts'

/** What the store holds, in memory and ready to be read: listings, publishers, keys. */
export class Projection {
  readonly listings: ListingIndex
  readonly #publishers = new Map<number, Publisher>()
  readonly #publisherIds = new Map<string, number>()
  readonly #keys = new Map<string, ApiKey>()
  readonly #row = new RowBuffer()

  constructor(filters: Iterable<Filter>) {
    this.listings = new ListingIndex(filters)
  }

  publisher(id: number): Publisher | null {
    return this.#publishers.get(id) ?? null
  }

  /** By signing identifier, which for `eip191` is the lower-cased address. */
  publisherOf(identifier: string, scheme = 'eip191'): Publisher | null {
    const id = this.#publisherIds.get(identityKey(scheme, identifier))
    return id === undefined ? null : this.publisher(id)
  }

  /** In the order of their first listing, oldest first. */
  get publishers(): ReadonlyMap<number, Publisher> {
    return this.#publishers
  }

  ownerOf(listingId: string): Publisher | null {
    const row = this.listings.get(listingId)
    return row === undefined ? null : this.publisher(row.publisherId)
  }

  keyByHash(hash: string): ApiKey | null {
    return this.#keys.get(hash) ?? null
  }

  /** Newest first, revoked ones included. */
  keys(): ApiKey[] {
    return [...this.#keys.values()].sort((a, b) => b.createdAt - a.createdAt || b.id - a.id)
  }

  /** What blocks of its listings are built with. */
  get blockSetting(): BlockSetting {
    const storefronts = new Map(
      Array.from(this.#publishers, ([id, { storefrontUrl }]) => [id, storefrontUrl]),
    )
    return { plan: this.listings.plan, storefronts }
  }

  /** Takes in one change; taking it in again changes nothing. */
  apply(change: Change): void {
    switch (change.kind) {
      case 'publisher':
        this.#setPublisher(change.publisher)
        break
      case 'listing':
        this.#setListing(change.record)
        break
      case 'listing_removed':
        this.listings.remove(change.listingId)
        break
      case 'key':
        this.#keys.set(change.key.hash, change.key)
    }
  }

  #setListing(record: ListingRecord): void {
    const storefrontUrl = this.publisher(record.publisherId)?.storefrontUrl ?? null
    this.listings.put(this.#row.entry(record, storefrontUrl))
  }

  /** A publisher that moves takes the rows of all its listings along (`protocol.md` 1.5). */
  #setPublisher(publisher: Publisher): void {
    const { publisherId, scheme, identifier, storefrontUrl } = publisher
    const before = this.publisher(publisherId)
    this.#publishers.set(publisherId, publisher)
    this.#publisherIds.set(identityKey(scheme, identifier), publisherId)
    if (before === null || before.storefrontUrl === storefrontUrl) return
    for (const entry of this.listings.entriesOf(publisherId))
      this.listings.put({ ...entry, bytes: withStorefrontUrl(entry.bytes, storefrontUrl) })
  }
}

const identityKey = (scheme: string, identifier: string): string => `${scheme}:${identifier}`

const withStorefrontUrl = (row: Uint8Array, storefrontUrl: string | null): Uint8Array => {
  const { value } = objectMembers(row).find(({ name }) => name === 'storefront_url')!
  return Buffer.concat([
    row.subarray(0, value.start),
    Buffer.from(JSON.stringify(storefrontUrl)),
    row.subarray(value.end),
  ])
}
