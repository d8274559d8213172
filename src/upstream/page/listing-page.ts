import { isUtf8 } from 'node:buffer'
import { type Directives, NO_DIRECTIVES } from '../../domain/freshness.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../domain/json.ts'
import { type MissingOptions, type MissingSource, readMissing } from '../../domain/missing-source.ts'
import { SourceError } from '../../domain/source-error.ts'
import type { UpstreamKind } from '../../domain/upstream.ts'
import { findSlices, ItemSlices, MAX_ITEM_BYTES, MAX_ITEM_DEPTH, type Slices } from './item-slices.ts'
import { PageItem } from './page-item.ts'

/** Most listings that one request asks for, and that a response may hold. */
export const MAX_PAGE_ITEMS = 200
/** Up to here a body is parsed at once: whatever it holds, that takes some milliseconds at most. */
const MAX_WHOLE_PARSE_BYTES = 512 * 1024
/** Most bytes around the items of a longer body. */
const MAX_ENVELOPE_BYTES = 512 * 1024
const PAGE_HEAP_BYTES = 1024

/** Tells whether a listing matches the query that a page was asked with. */
export type Matcher = {
  /** `null` where the document cannot tell, because JSON.parse has rounded a number that counts. */
  matches: (document: JsonObject) => boolean | null
  /** Exact for numbers of any size. */
  matchesBytes: (bytes: Uint8Array) => boolean
}

export type PageOptions = {
  kind: UpstreamKind
  matcher: Matcher
  missing?: MissingOptions
  /** Offset of the first item in the upstream; on a gateway's later pages a count of what came before. */
  offset: number
  /** The cursor that asked for it. */
  resume?: string | undefined
  directives?: Directives
  /** Of a gateway: its id, where its `Via` states one. */
  gatewayId?: string | undefined
}

/**
 * One response of `GET /listings`. It keeps the body and, per item, what ordering and merging compare; the documents
 * are dropped. An unreadable item spoils nothing else: any seller may have made it.
 */
export class ListingPage {
  readonly bytes: Buffer
  /** The readable ones, in the upstream's order. */
  readonly items: PageItem[] = []
  /** Items in the response, readable or not. */
  readonly received: number
  /** Matches in the upstream before paging, as it reports; never less than it sent. */
  readonly total: number
  /** What the answer reports as missing, where it is not complete. */
  readonly missing: readonly MissingSource[] | undefined
  /** Whether it is the answer of a gateway. */
  readonly isGateway: boolean
  /** Of a gateway: where its next page begins; absent on the last. */
  readonly nextCursor: string | undefined
  readonly offset: number
  readonly resume: string | undefined
  readonly directives: Directives
  readonly gatewayId: string | undefined
  readonly #slices: ItemSlices

  /** @throws SourceError `not_json` | `bad_envelope`, the latter also where none of the items is readable */
  constructor(bytes: Buffer, { kind, matcher, missing, ...options }: PageOptions) {
    const { envelope, documents, slices } = parseEnvelope(bytes)
    this.bytes = bytes
    this.received = documents.length
    this.total = Math.max(totalOf(envelope), documents.length)
    this.missing = readMissing(envelope, missing) ?? undefined
    this.isGateway = kind === 'gateway' && typeof envelope.complete === 'boolean'
    this.nextCursor = kind === 'gateway' ? asCursor(envelope.next_cursor) : undefined
    this.offset = options.offset
    this.resume = options.resume
    this.directives = options.directives ?? NO_DIRECTIVES
    this.gatewayId = options.gatewayId
    this.#slices = new ItemSlices(bytes, documents, slices)
    for (let index = 0; index < documents.length; index++) {
      const place = {
        kind,
        slices: this.#slices,
        index,
        offset: options.offset + index,
        resume: options.resume,
      }
      const item = PageItem.read(documents[index], place)
      if (item === null) continue
      item.isMatch = matcher.matches(documents[index] as JsonObject) ?? matchesText(item, matcher)
      this.items.push(item)
    }
    // A seller decides how long her listing is, but not that it is one.
    const isReadable = this.items.length > 0 || documents.includes(TOO_LARGE)
    if (!isReadable && documents.length > 0) throw badEnvelope('none of its items is readable')
  }

  /** Memory that it keeps alive. */
  get retainedBytes(): number {
    let heap = PAGE_HEAP_BYTES + this.#slices.retainedBytes
    for (const item of this.items) heap += item.heapBytes
    return this.bytes.length + heap
  }
}

/** Longest cursor of a gateway that is sent back to it. */
const MAX_CURSOR_LENGTH = 12_288

function asCursor(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value.length <= MAX_CURSOR_LENGTH ? value : undefined
}

function matchesText(item: PageItem, { matchesBytes }: Matcher): boolean {
  try {
    return matchesBytes(item.bytes)
  } catch {
    return false // unreadable: it is not shown either
  }
}

type Parsed = { envelope: JsonObject; documents: readonly JsonValue[]; slices: Slices | null }

function parseEnvelope(bytes: Buffer): Parsed {
  if (!isUtf8(bytes)) throw notJson()
  const parsed = bytes.length <= MAX_WHOLE_PARSE_BYTES ? parseWhole(bytes) : parseInParts(bytes)
  if (parsed.documents.length > MAX_PAGE_ITEMS)
    throw badEnvelope(`it holds more than ${MAX_PAGE_ITEMS} items`)
  return parsed
}

function parseWhole(bytes: Buffer): Parsed {
  const envelope = parse(bytes)
  if (!isJsonObject(envelope)) throw badEnvelope('it is not an object with items')
  const { items } = envelope
  if (!Array.isArray(items)) throw badEnvelope('items is not an array')
  return { envelope, documents: items, slices: null }
}

/** No parser sees a long body whole: items are parsed one by one, and only those that are not too long or too deep. */
function parseInParts(bytes: Buffer): Parsed {
  const slices = findSlices(bytes, MAX_PAGE_ITEMS)
  if (slices === null) throw badEnvelope(`it is not an object with at most ${MAX_PAGE_ITEMS} items`)
  const { bounds, count, arrayStart, arrayEnd } = slices
  const around = Buffer.concat([bytes.subarray(0, arrayStart), EMPTY_ARRAY, bytes.subarray(arrayEnd)])
  if (around.length > MAX_ENVELOPE_BYTES) throw badEnvelope('too much of it is not items')
  const envelope = parse(around)
  if (!isJsonObject(envelope)) throw badEnvelope('it is not an object with items')
  const documents = Array.from({ length: count }, (_, n): JsonValue => {
    const [start = 0, end = 0, depth = 0] = bounds.subarray(3 * n, 3 * n + 3)
    const isWithinLimits = end - start <= MAX_ITEM_BYTES && depth <= MAX_ITEM_DEPTH
    return isWithinLimits ? parse(bytes.subarray(start, end)) : TOO_LARGE
  })
  return { envelope, documents, slices }
}

/** In place of the document of an item that is too long or nested too deep. */
const TOO_LARGE: JsonValue = {}
const EMPTY_ARRAY = Buffer.from('[]')

function parse(bytes: Buffer): JsonValue {
  try {
    return JSON.parse(bytes.toString())
  } catch (cause) {
    throw notJson(cause)
  }
}

function totalOf({ total_after_filter: total }: JsonObject): number {
  if (typeof total === 'number' && Number.isSafeInteger(total) && total >= 0) return total
  throw badEnvelope('total_after_filter is not a count')
}

function notJson(cause?: unknown): SourceError {
  return new SourceError('not_json', 'the answer is not JSON', { cause })
}

function badEnvelope(what: string): SourceError {
  return new SourceError('bad_envelope', `the answer is not a listing envelope: ${what}`)
}
