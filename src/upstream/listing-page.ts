import { isUtf8 } from 'node:buffer'
import type { Directives, Freshness } from '../domain/freshness.ts'
import { type Gap, type GapOptions, readGaps } from '../domain/gap.ts'
import { isJsonObject, type JsonObject, parseJson } from '../domain/json.ts'
import { objectMembers } from '../domain/json-members.ts'
import { nestingDepth } from '../domain/json-walk.ts'
import { SourceError } from '../domain/source-error.ts'
import type { UpstreamKind } from '../domain/upstream.ts'
import { type FoundElement, findElements, MAX_DEPTH, readElement } from './read-elements.ts'
import type { UpstreamItem } from './upstream-item.ts'

/** Most listings that one request asks for, and the most that an answer may hold (`protocol.md` 1.7). */
export const MAX_PAGE_ITEMS = 200

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
  /** Of a gateway: its id, if it says it. */
  teller?: string
  /** What the upstream says about keeping it; absent means nothing. */
  directives?: Directives
  /** How old it is, and why it is shown; absent where nothing but the upstream itself was asked. */
  freshness?: Freshness
}

/** What a listing takes up beside its text: measured with 200 of 300 bytes, less than this. */
const HEAP_BYTES_PER_ITEM = 400

/** Memory that a page takes up while it is kept. */
export const retainedBytes = ({ bytes, items }: ListingPage): number =>
  bytes.length + items.length * HEAP_BYTES_PER_ITEM

/**
 * Reads an upstream's listing envelope (`spec.md` 2.1). A bad item, one that is no listing, is too long or nests too
 * deep, is left out and spoils nothing else: it may be any seller's. Where all of them are what no Registry makes of a
 * seller's listing, the answer is none. What an item's `_meta` says, and what the gateway says is missing, is read if
 * `kind` is a gateway, and never kept.
 * @throws SourceError `not_json` | `bad_envelope`
 */
export const parseListingPage = (
  bytes: Buffer,
  kind: UpstreamKind = 'registry',
  options?: GapOptions,
): ListingPage => {
  const place = isUtf8(bytes) ? findItems(bytes) : null
  if (place === null) throw notJson()
  const { elements } = place
  if (elements === null)
    throw isArrayAt(bytes, place.start) ? notJson() : badEnvelope('items is not an array')
  const around = readEnvelope(bytes, place)
  const total = totalOf(around)
  const gaps = kind === 'gateway' ? readGaps(around, options) : null
  if (elements.length > MAX_PAGE_ITEMS) throw badEnvelope(`it holds more than ${MAX_PAGE_ITEMS} items`)
  const read = parsing(() => elements.map((element) => readElement(bytes, element, kind)))
  if (read.length > 0 && read.every(({ isNobodys }) => isNobodys))
    throw badEnvelope('none of its items is a listing')
  return {
    bytes,
    items: read.flatMap(({ listing }) => listing ?? []),
    received: elements.length,
    total: Math.max(total, elements.length),
    ...(gaps === null ? {} : { gaps }),
  }
}

/** Where `items` stands; its elements, unless it is no array. */
type Place = { start: number; end: number; elements: FoundElement[] | null }

/** The last member of a name is the one that counts, as in `JSON.parse`. `null` where the bytes are no JSON object. */
const findItems = (bytes: Buffer): Place | null => {
  let elements: FoundElement[] | null = null
  const endOf = (name: string, start: number): number | null => {
    const array = name === 'items' ? findElements(bytes, start, MAX_PAGE_ITEMS) : null
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
