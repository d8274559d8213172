import { isJsonObject, type JsonValue } from '../../domain/json.ts'
import { withoutMember } from '../../domain/json-members.ts'
import type { Item, Origin } from '../../domain/reading.ts'
import { isRegistryName } from '../../domain/registry-name.ts'
import { type Micros, parseTimestamp } from '../../domain/timestamp.ts'
import type { UpstreamKind } from '../../domain/upstream.ts'
import type { ItemScanner } from './item-scanner.ts'
import type { ListingPage } from './listing-page.ts'

export const MAX_ITEM_BYTES = 65_536
/** In each of `also_in` and `disputed`. */
const MAX_NAMES = 100

/** Checks its bytes on access: most listings are never shown. */
export class PageItem implements Item {
  readonly listingId: string
  readonly storefrontUrl: string | null
  readonly publisherId: number | null
  publisher: string | null
  readonly origin?: Origin
  readonly isMatch: boolean
  readonly #page: ListingPage
  readonly #index: number
  readonly #hasMeta: boolean

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

  /** @throws SyntaxError as `ListingPage.bytesOf` */
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

  /** A copy that does not keep its page in memory. */
  toItem(): Item {
    const { bytes, listingId, createdAt, position, storefrontUrl, publisher, origin } = this
    const item = { bytes, listingId, createdAt, position, storefrontUrl, publisher }
    return origin === undefined ? item : { ...item, origin }
  }
}

type Scanned = Pick<ItemScanner, 'listingId' | 'storefrontUrl' | 'publisherId' | 'isMatch'>

type Meta = { publisher: string | null; position: Micros | null; origin?: Origin }

/** For plain Registries, whose `_meta` means nothing. */
export const NO_META: Meta = { publisher: null, position: null }

/** Unique within an upstream. Ids have no line feeds, so keys sort as ids do. */
export function listingKey(item: PageItem, kind: UpstreamKind): string {
  const { listingId, publisherId, publisher, storefrontUrl, origin } = item
  return kind === 'gateway' && origin !== undefined
    ? `${listingId}\n${publisherId}\n${publisher}\n${storefrontUrl}`
    : listingId
}

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

export function asAddress(text: string): string | null {
  return /^0x[0-9a-f]{40}$/i.test(text) ? text.toLowerCase() : null
}
