import { isUtf8 } from 'node:buffer'
import type { Directives, Freshness } from '../domain/freshness.ts'
import { type Gap, readGaps } from '../domain/gap.ts'
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  mayHoldLongInteger,
  parseJson,
} from '../domain/json.ts'
import { objectMembers, withoutMember } from '../domain/json-members.ts'
import { arrayAt, type Element, nestingDepth } from '../domain/json-walk.ts'
import type { Item } from '../domain/page.ts'
import { SourceError } from '../domain/source-error.ts'
import { parseTimestamp } from '../domain/timestamp.ts'
import type { UpstreamKind } from '../domain/upstream.ts'
import { readOrigin } from './origin.ts'

/** Most listings that one request asks for, and the most that an answer may hold (`protocol.md` 1.7). */
export const MAX_PAGE_ITEMS = 200
export const MAX_ITEM_BYTES = 65_536
export const MAX_DEPTH = 32
export const MAX_ID_LENGTH = 200

/** A listing of an upstream: its bytes as they came, less `_meta`, and what they say. */
export type UpstreamItem = { item: Item; document: JsonObject }

/** One answer of `GET /listings`. */
export type ListingPage = {
  /** The answer as it came; the items' bytes lie in it. */
  bytes: Buffer
  items: UpstreamItem[]
  /** Items in the answer, good or bad. */
  received: number
  /** Matches in the upstream before paging, as it says; never less than it sent. */
  total: number
  /** Of a gateway that says that its answer is not complete: what is missing. */
  gaps?: readonly Gap[]
  /** What the upstream says about keeping it; absent means nothing. */
  directives?: Directives
  /** How old it is, and why it is shown; absent where nothing but the upstream itself was asked. */
  freshness?: Freshness
}

/** Documents on the heap take up to twice their text (measured with 200 listings of 300 bytes), which is kept too. */
const HEAP_FACTOR = 3

/** Memory that a page takes up while it is kept. */
export const retainedBytes = ({ bytes }: ListingPage): number => bytes.length * HEAP_FACTOR

/**
 * Reads an upstream's listing envelope (`spec.md` 2.1). A bad item, one that is no listing, is too long or nests too
 * deep, is left out and spoils nothing else: it may be any seller's. Where all of them are what no Registry makes of a
 * seller's listing, the answer is none. What an item's `_meta` says is read if `kind` is a gateway, and never kept.
 * @throws SourceError `not_json` | `bad_envelope`
 */
export const parseListingPage = (bytes: Buffer, kind: UpstreamKind = 'registry'): ListingPage => {
  const place = isUtf8(bytes) ? findItems(bytes) : null
  if (place === null) throw notJson()
  const { elements } = place
  if (elements === null)
    throw isArrayAt(bytes, place.start) ? notJson() : badEnvelope('items is not an array')
  const around = readEnvelope(bytes, place)
  const total = totalOf(around)
  const gaps = kind === 'gateway' ? readGaps(around) : null
  if (elements.length > MAX_PAGE_ITEMS) throw badEnvelope(`it holds more than ${MAX_PAGE_ITEMS} items`)
  const documents = parsing(() => readDocuments(bytes, place, elements))
  if (documents.length > 0 && documents.every(isNobodys)) throw badEnvelope('none of its items is a listing')
  const items = elements.flatMap(
    ({ start, end }, n) => readItem(bytes.subarray(start, end), documents[n], kind) ?? [],
  )
  return {
    bytes,
    items,
    received: elements.length,
    total: Math.max(total, elements.length),
    ...(gaps === null ? {} : { gaps }),
  }
}

/** Where `items` stands; its elements, unless it is no array. */
type Place = { start: number; end: number; elements: Element[] | null }

/** The last member of a name is the one that counts, as in `JSON.parse`. `null` where the bytes are no JSON object. */
const findItems = (bytes: Buffer): Place | null => {
  let elements: Element[] | null = null
  const endOf = (name: string, start: number): number | null => {
    const array = name === 'items' ? arrayAt(bytes, start) : null
    if (name === 'items') elements = array?.elements ?? null
    return array?.end ?? null
  }
  const members = parsing(() => objectMembers(bytes, 0, endOf))
  const items = members.findLast(({ name }) => name === 'items')
  if (items !== undefined) return { ...items.value, elements }
  if (nestingDepth(bytes) <= MAX_DEPTH) parsing(() => JSON.parse(bytes.toString()))
  throw badEnvelope('it is not an object with items')
}

const isArrayAt = (bytes: Buffer, at: number): boolean => bytes[at] === 0x5b

/** What stands around the items, parsed without them: no parser ever sees a whole answer of unknown depth. */
const readEnvelope = (bytes: Buffer, { start, end }: Place): JsonObject => {
  const envelope = Buffer.concat([bytes.subarray(0, start), EMPTY_ARRAY, bytes.subarray(end)])
  if (nestingDepth(envelope) > MAX_DEPTH) throw badEnvelope(`it nests deeper than ${MAX_DEPTH}`)
  const value = parsing(() => parseJson(envelope.toString()))
  if (!isJsonObject(value)) throw badEnvelope('it is not an object')
  return value
}

const totalOf = ({ total_after_filter: total }: JsonObject): number => {
  if (typeof total === 'number' && Number.isSafeInteger(total) && total >= 0) return total
  throw badEnvelope('total_after_filter is not a count')
}

const EMPTY_ARRAY = Buffer.from('[]')

/**
 * What the elements say; `undefined` for one that is too long or nests too deep. All in one go where nothing speaks
 * against it, which takes half the time. One that is not JSON means that the answer was not.
 */
const readDocuments = (
  bytes: Buffer,
  { start, end }: Place,
  elements: readonly Element[],
): readonly (JsonValue | undefined)[] => {
  if (elements.every(isWithinLimits)) {
    const text = bytes.toString('utf8', start, end)
    if (!mayHoldLongInteger(text)) return JSON.parse(text)
  }
  return elements.map((element) =>
    isWithinLimits(element) ? parseJson(bytes.toString('utf8', element.start, element.end)) : undefined,
  )
}

const isWithinLimits = ({ start, end, depth }: Element): boolean =>
  end - start <= MAX_ITEM_BYTES && depth <= MAX_DEPTH

/** A seller decides what her listing says and how long it is, not that it is an object and has an id. */
const isNobodys = (document: JsonValue | undefined): boolean =>
  document !== undefined && (!isJsonObject(document) || typeof document.listing_id !== 'string')

/** `null` for an item that is no listing. */
const readItem = (
  bytes: Buffer,
  document: JsonValue | undefined,
  kind: UpstreamKind,
): UpstreamItem | null => {
  if (!isJsonObject(document)) return null
  const { listing_id: listingId, created_at: created, storefront_url: storefrontUrl } = document
  const createdAt = typeof created === 'string' ? parseTimestamp(created) : null
  if (createdAt === null || !isListingId(listingId)) return null
  const told = kind === 'gateway' ? readOrigin(document._meta) : { publisher: null }
  const item = {
    bytes: withoutMeta(bytes, document),
    listingId,
    createdAt,
    storefrontUrl: typeof storefrontUrl === 'string' ? storefrontUrl : null,
    ...told,
  }
  return { item, document }
}

const isListingId = (value: JsonValue | undefined): value is string =>
  typeof value === 'string' &&
  value.length > 0 &&
  value.length <= MAX_ID_LENGTH &&
  value.isWellFormed() &&
  !CONTROL.test(value)

const CONTROL = /[\u0000-\u001f\u007f-\u009f]/

const withoutMeta = (bytes: Buffer, document: JsonObject): Uint8Array => {
  if (!Object.hasOwn(document, '_meta')) return bytes
  delete document._meta
  return withoutMember(bytes, '_meta')
}

const parsing = <T>(parse: () => T): T => {
  try {
    return parse()
  } catch (cause) {
    if (cause instanceof SyntaxError) throw notJson(cause)
    throw cause
  }
}

const notJson = (cause?: unknown): SourceError =>
  new SourceError('not_json', 'the answer is not JSON', { cause })

const badEnvelope = (what: string): SourceError =>
  new SourceError('bad_envelope', `the answer is not a listing envelope: ${what}`)
