import type { ApiKey } from '../../../src/domain/api-key.ts'
import type { Block } from '../../../src/domain/block.ts'
import type { ListingRecord } from '../../../src/domain/listing.ts'
import type { Publisher } from '../../../src/domain/publisher.ts'
import type { Change } from '../../../src/store/commands.ts'
import type { Store } from '../../../src/store/store.ts'
import { visitorOf } from './subject.ts'

/** A reader's picture of a store, built from changes alone. */
export class Picture {
  readonly publishers: Map<number, Publisher>
  readonly listings: Map<string, ListingRecord>
  readonly keys: Map<number, ApiKey>
  readonly blocks: Map<number, Block>

  constructor(from?: Picture) {
    this.publishers = new Map(from?.publishers)
    this.listings = new Map(from?.listings)
    this.keys = new Map(from?.keys)
    this.blocks = new Map(from?.blocks)
  }

  static async of(store: Store): Promise<Picture> {
    const picture = new Picture()
    await store.load(visitorOf((change) => picture.apply(change)))
    return picture
  }

  apply(change: Change): void {
    if (change.kind === 'publisher') this.publishers.set(change.publisher.publisherId, change.publisher)
    else if (change.kind === 'key') this.keys.set(change.key.id, change.key)
    else if (change.kind === 'block') this.blocks.set(change.block.id, change.block)
    else if (change.kind === 'listing_removed') this.listings.delete(change.listingId)
    else this.#put(change.record)
  }

  /** For comparison: independent of the order in which things came. */
  sorted() {
    const byCreation = (a: { createdAt: number }, b: { createdAt: number }) => a.createdAt - b.createdAt
    return {
      publishers: [...this.publishers.values()].sort(byCreation),
      listings: [...this.listings.values()].sort(byCreation),
      keys: [...this.keys.values()].sort(byCreation),
      blocks: [...this.blocks.values()].sort(byCreation),
    }
  }

  #put(record: ListingRecord): void {
    if (!this.publishers.has(record.publisherId))
      throw new Error(`listing ${record.listingId} came before its publisher ${record.publisherId}`)
    this.listings.set(record.listingId, record)
  }
}
