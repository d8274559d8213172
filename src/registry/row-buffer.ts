import { type ListingRecord, renderListing } from '../domain/listing.ts'
import type { IndexEntry } from '../listing-index/listing-index.ts'

const USUAL_BYTES = 64 * 1024
const MOST_BYTES_PER_CHARACTER = 3

/** Renders into one buffer: the index copies what it keeps. */
export class RowBuffer {
  readonly #bytes = Buffer.allocUnsafe(USUAL_BYTES)

  /** Its bytes are valid until the next call. */
  entry(record: ListingRecord, storefrontUrl: string | null): IndexEntry {
    const { listingId, publisherId, status, createdAt } = record
    return {
      listingId,
      publisherId,
      status,
      createdAt,
      bytes: this.#write(renderListing(record, storefrontUrl)),
    }
  }

  #write(text: string): Uint8Array {
    if (text.length * MOST_BYTES_PER_CHARACTER > USUAL_BYTES) return Buffer.from(text)
    return this.#bytes.subarray(0, this.#bytes.write(text))
  }
}
