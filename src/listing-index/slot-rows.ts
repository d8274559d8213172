import type { Micros } from '../domain/timestamp.ts'
import { ByteStore, type ByteStoreParts } from './byte-store.ts'
import type { Place } from './place.ts'

/** What a slot holds for good. */
export type SlotRow = {
  listingId: string
  publisherId: number
  createdAt: Micros
  /** As served: JSON in UTF-8. */
  bytes: Uint8Array
}

/** Plain data that threads can exchange. */
export type SlotRowsParts = {
  texts: ByteStoreParts
  listingIds: string[]
  createdAt: Float64Array
  publisherIds: Float64Array
  chunks: Uint32Array
  starts: Uint32Array
  lengths: Uint32Array
}

export class SlotRows {
  readonly #texts: ByteStore
  readonly #listingIds: string[]
  readonly #createdAt: Float64Array
  readonly #publisherIds: Float64Array
  readonly #chunks: Uint32Array
  readonly #starts: Uint32Array
  readonly #lengths: Uint32Array

  static empty(slots: number): SlotRows {
    return new SlotRows({
      texts: { chunks: [], chunk: -1, used: 0 },
      listingIds: [],
      createdAt: new Float64Array(slots),
      publisherIds: new Float64Array(slots),
      chunks: new Uint32Array(slots),
      starts: new Uint32Array(slots),
      lengths: new Uint32Array(slots),
    })
  }

  constructor(parts: SlotRowsParts) {
    this.#texts = new ByteStore(parts.texts)
    this.#listingIds = parts.listingIds
    this.#createdAt = parts.createdAt
    this.#publisherIds = parts.publisherIds
    this.#chunks = parts.chunks
    this.#starts = parts.starts
    this.#lengths = parts.lengths
  }

  get used(): number {
    return this.#listingIds.length
  }

  add({ listingId, publisherId, createdAt, bytes }: SlotRow): number {
    const slot = this.used
    const { chunk, start, length } = this.#texts.add(bytes)
    this.#chunks[slot] = chunk
    this.#starts[slot] = start
    this.#lengths[slot] = length
    this.#createdAt[slot] = createdAt
    this.#publisherIds[slot] = publisherId
    this.#listingIds.push(listingId)
    return slot
  }

  listingIdOf(slot: number): string {
    return this.#listingIds[slot]!
  }

  placeOf(slot: number): Place {
    return { createdAt: this.#createdAt[slot]!, listingId: this.#listingIds[slot]! }
  }

  lengthOf(slot: number): number {
    return this.#lengths[slot]!
  }

  /** `bytes` is a view that stays valid. */
  rowOf(slot: number): SlotRow {
    return {
      listingId: this.#listingIds[slot]!,
      publisherId: this.#publisherIds[slot]!,
      createdAt: this.#createdAt[slot]!,
      bytes: this.#texts.view({
        chunk: this.#chunks[slot]!,
        start: this.#starts[slot]!,
        length: this.#lengths[slot]!,
      }),
    }
  }

  parts(): SlotRowsParts {
    return {
      texts: this.#texts.parts(),
      listingIds: this.#listingIds,
      createdAt: this.#createdAt,
      publisherIds: this.#publisherIds,
      chunks: this.#chunks,
      starts: this.#starts,
      lengths: this.#lengths,
    }
  }
}
