import type { Directives } from '../../domain/source/freshness.ts'
import { type MissingOptions, type MissingSource, readMissing } from '../../domain/source/missing-source.ts'
import type { Item, Origin } from '../../domain/source/reading.ts'
import type { UpstreamKind } from '../../domain/source/upstream.ts'
import type { Micros } from '../../domain/timestamp.ts'
import { withoutMember } from '../../json/members.ts'
import { CLOSE_BRACKET, COMMA, JsonScanner, OPEN_BRACKET } from '../../json/scanner.ts'
import { parseObject } from '../../json/value.ts'
import type { RowText } from '../../listing-index/scan/row-text.ts'
import { badEnvelope, type Meta, NO_META, notJson, parseEnvelope, readCursor, readMeta } from './envelope.ts'
import type { ItemScanner } from './item-scanner.ts'
import type { ScannedItem } from './known-items.ts'

export const MAX_PAGE_ITEMS = 200
export const MAX_ITEM_BYTES = 65_536
/** More deeply nested listings are unreadable. */
const MAX_ITEM_DEPTH = 32
const MAX_META_BYTES = 256 * 1024

/** What is kept of a page beside its body. */
export type PageAbout = {
  /** On a gateway's later pages, the number of items before. */
  offset: number
  resume?: string | undefined
  directives?: Directives | undefined
  gatewayId?: string | undefined
}

export type PageOptions = PageAbout & { kind: UpstreamKind; scanner: ItemScanner; missing?: MissingOptions }

/** Items are scanned in place, and checked when shown. An unreadable item does not affect the others. */
export class ListingPage {
  readonly bytes: Buffer
  /** Readable items, in the upstream's order. */
  readonly items: PageItem[] = []
  /** Including unreadable items. */
  received = 0
  /** As reported, but at least `received`. */
  readonly total: number
  readonly missing: readonly MissingSource[] | undefined
  readonly isGateway: boolean
  readonly nextCursor: string | undefined
  readonly about: PageAbout
  #scanner: JsonScanner | null = null

  /** @throws SourceError `not_json` | `bad_envelope`, the latter also where all items are unreadable */
  constructor(bytes: Buffer, { kind, scanner, missing, ...about }: PageOptions) {
    this.bytes = bytes
    this.about = about
    const { members, total } = parseEnvelope(bytes, (row, start) =>
      this.#scanItems(row, start, kind, scanner),
    )
    this.total = Math.max(total, this.received)
    this.missing = readMissing(members, missing) ?? undefined
    this.isGateway = kind === 'gateway' && typeof members.complete === 'boolean'
    this.nextCursor = this.isGateway ? readCursor(members.next_cursor) : undefined
    if (this.items.length === 0 && this.received > 0) throw badEnvelope('none of its items is readable')
  }

  get offset(): number {
    return this.about.offset
  }

  /** @throws SyntaxError for an item that is too long, nested too deep, or not JSON, or whose id is odd */
  bytesOf(item: ScannedItem, start: number): Buffer {
    const end = start + item.length
    if (!item.isChecked) {
      if (!isListingId(item.listingId!))
        throw new SyntaxError('the id is empty, too long, or has odd characters')
      this.#scanner ??= new JsonScanner(this.bytes)
      if (item.length > MAX_ITEM_BYTES || this.#scanner.validValueEnd(start, MAX_ITEM_DEPTH) !== end)
        throw new SyntaxError('the listing is too long, nested too deep, or not JSON')
      item.isChecked = true
    }
    return this.bytes.subarray(start, end)
  }

  #scanItems(row: RowText, start: number, kind: UpstreamKind, scanner: ItemScanner): number {
    if (row.bytes[start] !== OPEN_BRACKET) throw badEnvelope('items is not an array')
    let at = row.skipSpace(start + 1)
    if (row.bytes[at] === CLOSE_BRACKET) return at + 1
    for (;;) {
      if (this.received === MAX_PAGE_ITEMS) throw badEnvelope(`it holds more than ${MAX_PAGE_ITEMS} items`)
      const item = scanner.scan(row, at)
      const end = at + item.length
      if (end === at || end >= row.length) throw notJson()
      if (item.listingId !== null) {
        const meta = item.hasMeta ? this.#metaOf(kind, at, end) : null
        const place = { start: at, offset: this.offset + this.received }
        this.items.push(new PageItem(this, item, place, scanner.isMatch, meta))
      }
      this.received++
      at = row.skipSpace(end)
      if (row.bytes[at] === CLOSE_BRACKET) return at + 1
      if (row.bytes[at] !== COMMA) throw notJson()
      at = row.skipSpace(at + 1)
    }
  }

  #metaOf(kind: UpstreamKind, start: number, end: number): Meta {
    if (kind !== 'gateway' || end - start > MAX_ITEM_BYTES + MAX_META_BYTES) return NO_META
    return readMeta(parseObject(this.bytes.toString('utf8', start, end))._meta)
  }
}

const CONTROL = /[\u0000-\u001f\u007f-\u009f]/

/** Ids that are too long have a control character here. */
function isListingId(id: string): boolean {
  return id !== '' && !CONTROL.test(id) && id.isWellFormed()
}

/** Checks its bytes on access: most listings are never shown. */
export class PageItem implements Item {
  readonly listingId: string
  readonly position: Micros
  publisher: string | null
  readonly origin?: Origin
  readonly isMatch: boolean
  readonly offset: number
  readonly #page: ListingPage
  readonly #item: ScannedItem
  readonly #start: number
  readonly #hasMeta: boolean

  constructor(
    page: ListingPage,
    item: ScannedItem,
    { start, offset }: { start: number; offset: number },
    isMatch: boolean,
    meta: Meta | null,
  ) {
    this.listingId = item.listingId!
    this.position = meta?.position ?? item.createdAt
    this.publisher = meta?.publisher ?? null
    if (meta?.origin !== undefined) this.origin = meta.origin
    this.isMatch = isMatch
    this.offset = offset
    this.#page = page
    this.#item = item
    this.#start = start
    this.#hasMeta = meta !== null
  }

  get storefrontUrl(): string | null {
    return this.#item.storefrontUrl
  }

  get publisherId(): number | null {
    return this.#item.publisherId
  }

  get createdAt(): Micros {
    return this.#item.createdAt
  }

  /** @throws SyntaxError as `ListingPage.bytesOf` */
  get bytes(): Uint8Array {
    const bytes = this.#page.bytesOf(this.#item, this.#start)
    return this.#hasMeta ? withoutMember(bytes, '_meta') : bytes
  }

  get resume(): string | undefined {
    return this.#page.about.resume
  }

  /** A copy that does not keep its page in memory. */
  toItem(): Item {
    const { bytes, listingId, createdAt, position, storefrontUrl, publisher, origin } = this
    const item = { bytes, listingId, createdAt, position, storefrontUrl, publisher }
    return origin === undefined ? item : { ...item, origin }
  }
}

/** Unique within an upstream. Ids have no line feeds, so keys sort as ids do. */
export function listingKey(item: PageItem, kind: UpstreamKind): string {
  const { listingId, publisherId, publisher, storefrontUrl, origin } = item
  return kind === 'gateway' && origin !== undefined
    ? `${listingId}\n${publisherId}\n${publisher}\n${storefrontUrl}`
    : listingId
}
