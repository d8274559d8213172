import { hash } from 'node:crypto'
import { hasIdLength } from '../../domain/listing.ts'
import type { Item, Origin } from '../../domain/source/item.ts'
import {
  type MissingOptions,
  type MissingSource,
  readMissing,
  readOldestAge,
} from '../../domain/source/missing-source.ts'
import type { UpstreamKind } from '../../domain/source/upstream.ts'
import { type Micros, parseTimestamp } from '../../domain/timestamp.ts'
import { MAX_PAGE_ITEMS } from '../../domain/walk/walk.ts'
import { matchesAll } from '../../filter-spec/evaluate.ts'
import type { Criterion } from '../../filter-spec/filter.ts'
import { unsentFilters } from '../../filter-spec/parameters.ts'
import { nestingDepth } from '../../json/limits.ts'
import { objectMembers, withoutMember } from '../../json/members.ts'
import { CLOSE_BRACKET, COMMA, type JsonScanner, OPEN_BRACE, OPEN_BRACKET } from '../../json/scanner.ts'
import { at, isJsonObject, type JsonObject, type JsonValue, parseJson } from '../../json/value.ts'
import { MAX_ACTIVE_PRINCIPALS, publishersIn } from '../../signing/principal.ts'
import type { UpstreamQuery } from '../push-down.ts'
import { badEnvelope, type Meta, NO_META, notJson, parseEnvelope, readMeta } from './envelope.ts'

export const MAX_ITEM_BYTES = 65_536
/** More deeply nested listings are unreadable. */
const MAX_ITEM_DEPTH = 32
const MAX_META_BYTES = 256 * 1024

/** What is kept of a page beside its body. */
type PageAbout = {
  offset: number
  /** Seconds that a cache on the way had it. */
  sentAge?: number | undefined
  etag?: string | undefined
  changesPosition?: string | undefined
  gatewayId?: string | undefined
}

/** What the upstream should have applied, which is checked. */
export type Conditions = { status: string | null; criteria: readonly Criterion[] }

export type PageOptions = PageAbout & {
  kind: UpstreamKind
  conditions: Conditions
  missing?: MissingOptions
}

/** The status, and the filters that are pushed down, but derived ones, which the upstream judges by tables of its own, or those of `only`. */
export function conditionsOf(query: UpstreamQuery): Conditions {
  if (query.listingId !== undefined) return { status: null, criteria: [] }
  const unsent = new Set(unsentFilters(query))
  const criteria = query.criteria.filter(
    ({ filter }) => filter.parseDerived === undefined && !unsent.has(filter.name),
  )
  return { status: query.status, criteria: query.only ?? criteria }
}

/** An unreadable item does not affect the others. */
export class ListingPage {
  readonly bytes: Buffer
  /** Items that have an id and a date, in the upstream's order. */
  readonly items: PageItem[] = []
  /** Including all others. */
  received = 0
  /** As reported, but at least `received`. */
  readonly total: number
  readonly missing: readonly MissingSource[] | undefined
  readonly isGateway: boolean
  /** Whether the upstream applied derived filters. */
  readonly isJudged: boolean
  /** Age of its oldest data when it came, as a gateway or a cache on the way states. */
  readonly ageSeconds: number
  /** Of a gateway: whether further pages follow. */
  readonly hasMore: boolean
  readonly about: PageAbout

  /** @throws SourceError `not_json` | `bad_envelope`, the latter also where all items are unreadable */
  constructor(bytes: Buffer, { kind, conditions, missing, ...about }: PageOptions) {
    this.bytes = bytes
    this.about = about
    const { members, total } = parseEnvelope(bytes, (scanner, start) =>
      this.#readItems(scanner, start, { kind, conditions }),
    )
    this.total = Math.max(total, this.received)
    this.missing = readMissing(members, missing) ?? undefined
    this.isJudged = isJsonObject(members.unplaced)
    this.isGateway = kind === 'gateway' && typeof members.complete === 'boolean'
    this.ageSeconds = Math.max(about.sentAge ?? 0, this.isGateway ? readOldestAge(members) : 0)
    this.hasMore = this.isGateway && Boolean(members.next_cursor)
    if (this.items.length === 0 && this.received > 0) throw badEnvelope('none of its items is readable')
  }

  get offset(): number {
    return this.about.offset
  }

  #readItems(scanner: JsonScanner, start: number, options: ReadOptions): number {
    const { bytes } = scanner
    if (bytes[start] !== OPEN_BRACKET) throw badEnvelope('items is not an array')
    let at = scanner.skipSpace(start + 1)
    if (bytes[at] === CLOSE_BRACKET) return at + 1
    for (;;) {
      if (this.received === MAX_PAGE_ITEMS) throw badEnvelope(`it holds more than ${MAX_PAGE_ITEMS} items`)
      const end = scanner.valueEnd(at)
      if (end === at || end >= scanner.length) throw notJson()
      const item = readItem(this, { start: at, end, offset: this.offset + this.received }, options)
      if (item !== null) this.items.push(item)
      this.received++
      at = scanner.skipSpace(end)
      if (bytes[at] === CLOSE_BRACKET) return at + 1
      if (bytes[at] !== COMMA) throw notJson()
      at = scanner.skipSpace(at + 1)
    }
  }
}

type ReadOptions = Pick<PageOptions, 'kind' | 'conditions'>
type Place = { start: number; end: number; offset: number }

/** `null` for what is no listing. A listing that cannot be shown is an item, since pages join by it. */
function readItem(page: ListingPage, place: Place, { kind, conditions }: ReadOptions): PageItem | null {
  const bytes = page.bytes.subarray(place.start, place.end)
  const depth = nestingDepth(bytes)
  const isParsed = bytes.length <= MAX_ITEM_BYTES + MAX_META_BYTES && depth <= MAX_ITEM_DEPTH
  const value = isParsed ? parseRow(bytes) : parseHead(bytes)
  if (value === null) return null
  const { listing_id: id, created_at: created, status } = value
  const createdAt = typeof created === 'string' ? parseTimestamp(created) : null
  if (createdAt === null || typeof id !== 'string') return null
  const isMatch =
    (conditions.status === null || status === conditions.status) && matchesAll(conditions.criteria, value)
  const meta = kind === 'gateway' && isParsed ? readMeta(value._meta) : NO_META
  return new PageItem(page, place, {
    value,
    listingId: boundedId(id),
    position: meta.position ?? createdAt,
    isMatch,
    isReadable: isParsed && bytes.length <= MAX_ITEM_BYTES && isListingId(id),
    meta,
  })
}

function parseRow(bytes: Buffer): JsonObject | null {
  if (bytes[0] !== OPEN_BRACE) return null
  try {
    const value = parseJson(bytes.toString())
    return isJsonObject(value) ? value : null
  } catch {
    return null
  }
}

const HEAD = new Set(['listing_id', 'created_at', 'storefront_url', 'status', 'publisher_id'])
const MAX_HEAD_BYTES = 4096

/** Of a listing that is too long or nested too deep to be parsed. */
function parseHead(bytes: Buffer): JsonObject | null {
  if (bytes[0] !== OPEN_BRACE) return null
  try {
    const members = objectMembers(bytes).filter(
      ({ name, value }) => HEAD.has(name) && value.end - value.start <= MAX_HEAD_BYTES,
    )
    const values = members.map(({ name, value }): [string, JsonValue] => [
      name,
      JSON.parse(bytes.toString('utf8', value.start, value.end)),
    ])
    return Object.fromEntries(values)
  } catch {
    return null
  }
}

/** Of an id that is too long, its hash behind a control character. */
function boundedId(id: string): string {
  return hasIdLength(id) ? id : `\0${hash('sha256', id, 'base64url')}`
}

const CONTROL = /[\u0000-\u001f\u007f-\u009f]/

function isListingId(id: string): boolean {
  return id !== '' && hasIdLength(id) && !CONTROL.test(id) && id.isWellFormed()
}

type Described = {
  value: JsonObject
  listingId: string
  position: Micros
  isMatch: boolean
  isReadable: boolean
  meta: Meta
}

export class PageItem implements Item {
  readonly listingId: string
  readonly position: Micros
  readonly storefrontUrl: string | null
  readonly publisherId: number | null
  publisher: string | null
  aliases: readonly string[] | undefined
  /** Active keys of its publisher as the row has them, the primary one first. */
  readonly principals: readonly string[]
  readonly origin?: Origin
  readonly isMatch: boolean
  readonly offset: number
  /** Not for an item that is too long or nested too deep, or whose id is odd. */
  readonly isReadable: boolean
  readonly #page: ListingPage
  readonly #start: number
  readonly #end: number
  readonly #hasMeta: boolean

  constructor(page: ListingPage, { start, end, offset }: Place, { value, meta, ...about }: Described) {
    const { storefront_url: storefrontUrl, publisher_id: publisherId } = value
    this.listingId = about.listingId
    this.position = about.position
    this.storefrontUrl = typeof storefrontUrl === 'string' ? storefrontUrl : null
    this.publisherId = Number.isSafeInteger(publisherId) ? Number(publisherId) + 0 : null
    this.publisher = meta.publisher
    this.aliases = meta.aliases
    this.principals = publishersIn(at(value, 'publisher_principals', 'identities'), MAX_ACTIVE_PRINCIPALS)
    if (meta.origin !== undefined) this.origin = meta.origin
    this.isMatch = about.isMatch
    this.offset = offset
    this.#page = page
    this.#start = start
    this.#end = end
    this.isReadable = about.isReadable
    this.#hasMeta = Object.hasOwn(value, '_meta')
  }

  /** @throws SyntaxError unless it is readable */
  get bytes(): Uint8Array {
    if (!this.isReadable) throw new SyntaxError('the listing is too long, nested too deep, or has an odd id')
    const bytes = this.#page.bytes.subarray(this.#start, this.#end)
    return this.#hasMeta ? withoutMember(bytes, '_meta') : bytes
  }

  /** A copy that does not keep its page in memory. */
  toItem(): Item {
    const { bytes, listingId, position, storefrontUrl, publisher, aliases, origin } = this
    const item = { bytes, listingId, position, storefrontUrl, publisher, aliases }
    return origin === undefined ? item : { ...item, origin }
  }
}

export function canBeHeld({ isMatch, isReadable }: PageItem): boolean {
  return isMatch && isReadable
}
