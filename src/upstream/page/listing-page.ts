import { isUtf8 } from 'node:buffer'
import { type Directives, NO_DIRECTIVES } from '../../domain/freshness.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../domain/json.ts'
import { JsonCheck } from '../../domain/json-check.ts'
import { CLOSE_BRACE, CLOSE_BRACKET, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } from '../../domain/json-walk.ts'
import { type MissingOptions, type MissingSource, readMissing } from '../../domain/missing-source.ts'
import { SourceError } from '../../domain/source-error.ts'
import type { Micros } from '../../domain/timestamp.ts'
import type { UpstreamKind } from '../../domain/upstream.ts'
import { RowText } from '../../listing-index/row-text.ts'
import { skipSpace, skipValue } from '../../listing-index/skip-json.ts'
import type { ItemScanner } from './item-scanner.ts'
import { MAX_ITEM_BYTES, NO_META, PageItem, readMeta } from './page-item.ts'

export const MAX_PAGE_ITEMS = 200
/** More deeply nested listings are unreadable. */
const MAX_ITEM_DEPTH = 32
/** Limits of an envelope, without its items. */
const MAX_MEMBERS = 256
const MAX_ENVELOPE_BYTES = 512 * 1024
const MAX_CURSOR_LENGTH = 12_288

export type PageOptions = {
  kind: UpstreamKind
  scanner: ItemScanner
  missing?: MissingOptions
  /** On a gateway's later pages, the number of items before. */
  offset: number
  resume?: string | undefined
  directives?: Directives
  gatewayId?: string | undefined
}

/** Items are scanned in place, and checked when shown. An unreadable item does not affect the others. */
export class ListingPage {
  readonly bytes: Buffer
  /** Readable items, in the upstream's order. */
  readonly items: PageItem[] = []
  /** Including unreadable items. */
  readonly received: number
  /** As reported, but at least `received`. */
  readonly total: number
  readonly missing: readonly MissingSource[] | undefined
  readonly isGateway: boolean
  readonly nextCursor: string | undefined
  readonly offset: number
  readonly resume: string | undefined
  readonly directives: Directives
  readonly gatewayId: string | undefined
  /** Start and end of each item. */
  readonly #bounds: Int32Array
  /** `created_at` and position of each item. */
  readonly #times: Float64Array
  #check: JsonCheck | null = null

  /** @throws SourceError `not_json` | `bad_envelope`, the latter also where all items are unreadable */
  constructor(bytes: Buffer, { kind, scanner, missing, ...options }: PageOptions) {
    if (!isUtf8(bytes)) throw notJson()
    this.bytes = bytes
    this.offset = options.offset
    this.resume = options.resume
    this.directives = options.directives ?? NO_DIRECTIVES
    this.gatewayId = options.gatewayId
    const row = loaded(bytes)
    const scan = { kind, scanner, count: 0 }
    const items = findItems(row, (start) => this.#scanItems(row, start, scan))
    this.received = scan.count
    this.#bounds = BOUNDS.slice(0, 2 * scan.count)
    this.#times = TIMES.slice(0, 2 * scan.count)
    const envelope = readEnvelope(bytes, items)
    this.total = Math.max(totalOf(envelope), this.received)
    this.missing = readMissing(envelope, missing) ?? undefined
    this.isGateway = kind === 'gateway' && typeof envelope.complete === 'boolean'
    this.nextCursor = this.isGateway ? asCursor(envelope.next_cursor) : undefined
    if (this.items.length === 0 && !this.#isEmptyOrLong()) throw badEnvelope('none of its items is readable')
  }

  get retainedBytes(): number {
    return PAGE_HEAP_BYTES + this.bytes.length
  }

  createdAt(index: number): Micros {
    return this.#times[2 * index]!
  }

  position(index: number): Micros {
    return this.#times[2 * index + 1]!
  }

  /** @throws SyntaxError for an item that is too long, nested too deep, or not JSON */
  bytesOf(index: number): Buffer {
    const start = this.#bounds[2 * index]!
    const end = this.#bounds[2 * index + 1]!
    this.#check ??= new JsonCheck(this.bytes)
    if (end - start > MAX_ITEM_BYTES || this.#check.valueEnd(start, MAX_ITEM_DEPTH) !== end)
      throw new SyntaxError('the listing is too long, nested too deep, or not JSON')
    return this.bytes.subarray(start, end)
  }

  /** A seller can make a listing too long, but not an item that is not a listing. */
  #isEmptyOrLong(): boolean {
    if (this.received === 0) return true
    return this.#bounds.some((end, n) => n % 2 === 1 && end - this.#bounds[n - 1]! > MAX_ITEM_BYTES)
  }

  #scanItems(row: RowText, at: number, scan: Scan): number {
    const { kind, scanner } = scan
    if (row.bytes[at] !== OPEN_BRACKET) throw badEnvelope('items is not an array')
    let position = skipSpace(row, at + 1)
    if (row.bytes[position] === CLOSE_BRACKET) return position + 1
    for (;;) {
      if (scan.count === MAX_PAGE_ITEMS) throw badEnvelope(`it holds more than ${MAX_PAGE_ITEMS} items`)
      const end = scanner.scan(row, position)
      if (end === position || end >= row.length) throw notJson()
      const { listingId, createdAt, hasMeta } = scanner
      const meta = hasMeta && listingId !== null ? this.#metaOf(kind, position, end) : null
      if (listingId !== null) this.items.push(new PageItem(this, scan.count, scanner, meta))
      const slot = 2 * scan.count++
      BOUNDS[slot] = position
      BOUNDS[slot + 1] = end
      TIMES[slot] = createdAt
      TIMES[slot + 1] = meta?.position ?? createdAt
      position = skipSpace(row, end)
      if (row.bytes[position] === CLOSE_BRACKET) return position + 1
      if (row.bytes[position] !== COMMA) throw notJson()
      position = skipSpace(row, position + 1)
    }
  }

  #metaOf(kind: UpstreamKind, start: number, end: number) {
    if (kind !== 'gateway' || end - start > MAX_ITEM_BYTES + MAX_META_BYTES) return NO_META
    try {
      const document: JsonValue = JSON.parse(this.bytes.toString('utf8', start, end))
      return isJsonObject(document) ? readMeta(document._meta) : NO_META
    } catch {
      return NO_META
    }
  }
}

const PAGE_HEAP_BYTES = 1024
const MAX_META_BYTES = 256 * 1024

const OTHER_JSON = /^(\[|"|-?\d|null\b|true\b|false\b)/

type Span = { start: number; end: number }
type Scan = { kind: UpstreamKind; scanner: ItemScanner; count: number }

/** Of the current page. */
const BOUNDS = new Int32Array(2 * MAX_PAGE_ITEMS)
const TIMES = new Float64Array(2 * MAX_PAGE_ITEMS)

/** For all pages that fit. */
const SHARED_ROW = new RowText(MAX_ENVELOPE_BYTES)

function loaded(bytes: Buffer): RowText {
  const row = bytes.length <= MAX_ENVELOPE_BYTES ? SHARED_ROW : new RowText(bytes.length)
  row.load(bytes)
  return row
}

/** Refuses two `items`: parsers differ about which counts. */
function findItems(row: RowText, scan: (start: number) => number): Span {
  const { bytes } = row
  let found: Span | null = null
  let position = skipSpace(row, 0)
  if (position >= row.length) throw notJson()
  if (bytes[position] !== OPEN_BRACE)
    throw OTHER_JSON.test(bytes.toString('latin1', position, Math.min(position + 6, row.length)))
      ? badEnvelope('it is not an object')
      : notJson()
  position = skipSpace(row, position + 1)
  for (let members = 0; bytes[position] === QUOTE && position < row.length; members++) {
    if (members === MAX_MEMBERS) throw badEnvelope(`it has more than ${MAX_MEMBERS} members`)
    const nameEnd = skipValue(row, position)
    const start = skipSpace(row, skipSpace(row, nameEnd) + 1)
    const isArray = isItems(bytes, position, nameEnd)
    if (isArray && found !== null) throw badEnvelope('it has items twice')
    const end = isArray ? scan(start) : skipValue(row, start)
    if (isArray) found = { start, end }
    position = skipSpace(row, end)
    if (bytes[position] === COMMA) position = skipSpace(row, position + 1)
  }
  if (bytes[position] !== CLOSE_BRACE || position >= row.length) throw notJson()
  if (found === null) throw badEnvelope('it has no items')
  return found
}

function isItems(bytes: Buffer, start: number, end: number): boolean {
  const text = bytes.toString('utf8', start, end)
  if (!text.includes('\\')) return text === '"items"'
  try {
    return JSON.parse(text) === 'items'
  } catch {
    return false
  }
}

function readEnvelope(bytes: Buffer, { start, end }: Span): JsonObject {
  const around = bytes.length - (end - start)
  if (around > MAX_ENVELOPE_BYTES)
    throw badEnvelope(`more than ${MAX_ENVELOPE_BYTES} bytes of it are not items`)
  try {
    const value: JsonValue = JSON.parse(`${bytes.toString('utf8', 0, start)}[]${bytes.toString('utf8', end)}`)
    if (isJsonObject(value)) return value
  } catch (cause) {
    throw notJson(cause)
  }
  throw badEnvelope('it is not an object')
}

function totalOf({ total_after_filter: total }: JsonObject): number {
  if (typeof total === 'number' && Number.isSafeInteger(total) && total >= 0) return total
  throw badEnvelope('total_after_filter is not a count')
}

function asCursor(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value.length <= MAX_CURSOR_LENGTH ? value : undefined
}

function notJson(cause?: unknown): SourceError {
  return new SourceError('not_json', 'the answer is not JSON', { cause })
}

function badEnvelope(what: string): SourceError {
  return new SourceError('bad_envelope', `the answer is not a listing envelope: ${what}`)
}
