import { isJsonObject, type JsonValue } from '../../domain/json.ts'
import { withoutMember } from '../../domain/json-members.ts'
import type { Item, Origin } from '../../domain/reading.ts'
import { isRegistryName } from '../../domain/registry-name.ts'
import { type Micros, parseTimestamp } from '../../domain/timestamp.ts'
import type { UpstreamKind } from '../../domain/upstream.ts'
import type { ItemScanner } from './item-scanner.ts'
import type { ListingPage } from './listing-page.ts'

/** Larger listings are unreadable. */
export const MAX_ITEM_BYTES = 65_536
/** Most names of a gateway's `also_in` and `disputed` that are kept. */
const MAX_NAMES = 100

/** A listing of an upstream. Its bytes are checked when they are asked for: most are never shown. */
export class PageItem implements Item {
  readonly listingId: string
  readonly storefrontUrl: string | null
  readonly publisherId: number | null
  publisher: string | null
  readonly origin?: Origin
  /** Whether it matches the query that its page was asked with. */
  readonly isMatch: boolean
  readonly #page: ListingPage
  readonly #index: number
  readonly #hasMeta: boolean

  /** @param meta `null` where it has no `_meta` */
  constructor(page: ListingPage, index: number, scanned: Scanned, meta: Meta | null) {
    this.#page = page
    this.#index = index
    this.listingId = scanned.listingId!
    this.storefrontUrl = scanned.storefrontUrl
    this.publisherId = scanned.publisherId
    this.isMatch = scanned.isMatch
    this.publisher = meta?.publisher ?? null
    this.#hasMeta = meta !== null
    if (meta?.origin !== undefined) this.origin = meta.origin
  }

  get createdAt(): Micros {
    return this.#page.createdAt(this.#index)
  }

  get position(): Micros {
    return this.#page.position(this.#index)
  }

  /** @throws SyntaxError for an item that is too long, nested too deep, or not JSON */
  get bytes(): Uint8Array {
    const bytes = this.#page.bytesOf(this.#index)
    return this.#hasMeta ? withoutMember(bytes, '_meta') : bytes
  }

  get offset(): number {
    return this.#page.offset + this.#index
  }

  get resume(): string | undefined {
    return this.#page.resume
  }

  /** Without its page: to be held for longer. */
  toItem(): Item {
    const { bytes, listingId, createdAt, position, storefrontUrl, publisher, origin } = this
    const item = { bytes, listingId, createdAt, position, storefrontUrl, publisher }
    return origin === undefined ? item : { ...item, origin }
  }
}

type Scanned = Pick<ItemScanner, 'listingId' | 'storefrontUrl' | 'publisherId' | 'isMatch'>

/** The `_meta` of an item, as far as it is believed. */
type Meta = { publisher: string | null; position: Micros | null; origin?: Origin }

/** The `_meta` of a plain Registry means nothing. */
export const NO_META: Meta = { publisher: null, position: null }

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

/** The `_meta` that a gateway adds to an item. */
export function readMeta(meta: JsonValue | undefined): Meta {
  if (!isJsonObject(meta) || !isRegistryName(meta.registry)) return NO_META
  const { registry, publisher, also_in: alsoIn, disputed, stale, differs, position } = meta
  return {
    publisher: typeof publisher === 'string' ? asAddress(publisher) : null,
    position: typeof position === 'string' ? parseTimestamp(position) : null,
    origin: {
      registry,
      alsoIn: namesIn(alsoIn),
      disputed: namesIn(disputed),
      stale: stale === true,
      differs: differs === true,
    },
  }
}

function namesIn(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.slice(0, MAX_NAMES).filter(isRegistryName) : NO_NAMES
}

const NO_NAMES: readonly string[] = []

/** A signing address, lower-cased; `null` for any other text. */
export function asAddress(text: string): string | null {
  return /^0x[0-9a-f]{40}$/i.test(text) ? text.toLowerCase() : null
}
