import { isJsonObject, type JsonObject, type JsonValue } from '../../domain/json.ts'
import { withoutMember } from '../../domain/json-members.ts'
import type { Item, Origin } from '../../domain/reading.ts'
import { isRegistryName } from '../../domain/registry-name.ts'
import { type Micros, parseTimestamp } from '../../domain/timestamp.ts'
import type { UpstreamKind } from '../../domain/upstream.ts'
import type { ItemSlices } from './item-slices.ts'

const MAX_ID_LENGTH = 200
/** Most names of a gateway's `also_in` that are kept. */
const MAX_COPIES = 100

/** A listing of an upstream. Its bytes are found when they are asked for. */
export class PageItem implements Item {
  readonly listingId: string
  readonly createdAt: Micros
  readonly position: Micros
  readonly storefrontUrl: string | null
  /** `null` where the member is not a string. */
  readonly status: string | null
  /** `null` where the member is not an integer. */
  readonly publisherId: number | null
  publisher: string | null = null
  readonly origin?: Origin
  /** Whether it matches the query that its page was asked with. */
  isMatch = true
  readonly #slices: ItemSlices
  readonly #index: number
  readonly #hasMeta: boolean
  readonly offset: number
  readonly resume?: string

  private constructor(
    document: JsonObject,
    times: { createdAt: Micros; position: Micros },
    place: ItemPlace,
  ) {
    this.listingId = document.listing_id as string
    this.createdAt = times.createdAt
    this.position = times.position
    this.storefrontUrl = typeof document.storefront_url === 'string' ? document.storefront_url : null
    this.status = typeof document.status === 'string' ? document.status : null
    this.publisherId = Number.isSafeInteger(document.publisher_id) ? (document.publisher_id as number) : null
    this.#slices = place.slices
    this.#index = place.index
    this.offset = place.offset
    if (place.resume !== undefined) this.resume = place.resume
    this.#hasMeta = Object.hasOwn(document, '_meta')
    if (!this.#hasMeta || place.kind !== 'gateway') return
    const origin = readOrigin(document._meta)
    if (origin === null) return
    this.publisher = origin.publisher
    this.origin = origin.origin
  }

  /** `null` for a document that is not a listing: no id, or no time that it was created at. */
  static read(document: JsonValue | undefined, place: ItemPlace): PageItem | null {
    if (!isJsonObject(document) || !isListingId(document.listing_id)) return null
    const { created_at: created, _meta: meta } = document
    const createdAt = typeof created === 'string' ? parseTimestamp(created) : null
    if (createdAt === null) return null
    const position = place.kind === 'gateway' ? readPosition(meta) : null
    return new PageItem(document, { createdAt, position: position ?? createdAt }, place)
  }

  get bytes(): Uint8Array {
    const slice = this.#slices.at(this.#index)
    return this.#hasMeta ? withoutMember(slice, '_meta') : slice
  }

  /** Without its page: to be held for longer. */
  toItem(): Item {
    const { bytes, listingId, createdAt, position, storefrontUrl, publisher, origin } = this
    const item = { bytes, listingId, createdAt, position, storefrontUrl, publisher }
    return origin === undefined ? item : { ...item, origin }
  }

  /** Memory that it takes besides the bytes of its page. */
  get heapBytes(): number {
    const texts =
      this.listingId.length + (this.storefrontUrl?.length ?? 0) + (this.publisher === null ? 0 : 64)
    const origin = this.origin === undefined ? 0 : 200 + this.origin.alsoIn.length * 48
    return ITEM_HEAP_BYTES + texts + origin
  }
}

/** Where an item was found. */
export type ItemPlace = {
  kind: UpstreamKind
  slices: ItemSlices
  index: number
  offset: number
  resume: string | undefined
}

/**
 * What tells a listing of an upstream from its others: its id, and of what a gateway has from elsewhere also its
 * publisher. No id contains a line feed, so keys sort as ids do.
 */
export function listingKey(item: PageItem, kind: UpstreamKind): string {
  const { listingId, publisherId, publisher, storefrontUrl, origin } = item
  return kind === 'gateway' && origin !== undefined
    ? `${listingId}\n${publisherId}\n${publisher}\n${storefrontUrl}`
    : listingId
}

/** An object of 14 fields and the headers of its strings, with what it takes in the maps that refer to it. */
const ITEM_HEAP_BYTES = 320

function isListingId(value: JsonValue | undefined): value is string {
  return (
    typeof value === 'string' &&
    value.length > 0 &&
    value.length <= MAX_ID_LENGTH &&
    !CONTROL.test(value) &&
    value.isWellFormed()
  )
}

const CONTROL = /[\u0000-\u001f\u007f-\u009f]/

function readPosition(meta: JsonValue | undefined): Micros | null {
  return isJsonObject(meta) && typeof meta.position === 'string' ? parseTimestamp(meta.position) : null
}

function readOrigin(meta: JsonValue | undefined): { publisher: string | null; origin: Origin } | null {
  if (!isJsonObject(meta) || !isRegistryName(meta.registry)) return null
  const { registry, publisher, also_in: alsoIn, stale, differs } = meta
  return {
    publisher: typeof publisher === 'string' ? asAddress(publisher) : null,
    origin: {
      registry,
      alsoIn: Array.isArray(alsoIn) ? alsoIn.slice(0, MAX_COPIES).filter(isRegistryName) : [],
      stale: stale === true,
      differs: differs === true,
    },
  }
}

/** A signing address, lower-cased; `null` for any other text. */
export function asAddress(text: string): string | null {
  return /^0x[0-9a-f]{40}$/i.test(text) ? text.toLowerCase() : null
}
