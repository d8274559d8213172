import {
  activeIdentities,
  activeUntil,
  isRetired,
  type Publisher,
  type Rotation,
} from '../../domain/publisher.ts'
import { formatTimestamp, type Micros } from '../../domain/timestamp.ts'
import { at, isJsonObject, type JsonObject, type JsonValue, textAt } from '../../json/value.ts'
import { isSignable } from '../../signing/canonical-json.ts'
import {
  isSamePrincipal,
  MAX_ACTIVE_PRINCIPALS,
  type Principal,
  publisherOf,
  readPrincipal,
  readPublisher,
} from '../../signing/principal.ts'

export type BodyOptions = {
  /** Of the local Registry as a source; its rows keep their numbers of publishers. */
  localName: string
  /** Of the local Registry; `null` for another number. */
  publisherWith: (id: number) => Publisher | null
  /** Unix seconds. */
  nowSeconds: () => number
}

/** The members of a body as readers of the signed line have them. Rows that cannot be signed are left out, and counted nowhere. */
export function inSignedLine(operation: string, body: JsonObject, options: BodyOptions): JsonObject {
  const { items, listing } = body
  if (operation === 'publisher.get') return publisherRow(body, options)
  if (operation === 'listing.get' && isJsonObject(listing))
    return { ...body, listing: rowOf(listing, options) }
  if (operation === 'listing.list' && Array.isArray(items)) return pageOf(body, items, options)
  if (operation === 'publisher.list' && Array.isArray(items))
    return { ...body, items: items.filter(isJsonObject).map((row) => publisherRow(row, options)) }
  return body
}

/** The best row of an id stands for it: buyers there read single listings by the id alone. */
function pageOf(body: JsonObject, items: readonly JsonValue[], options: BodyOptions): JsonObject {
  const rows = new Map<string | null, JsonObject>()
  for (const item of items) {
    const row = isJsonObject(item) ? rowOf(item, options) : null
    const id = textAt(row, 'listing_id')
    if (row !== null && !rows.has(id)) rows.set(id, row)
  }
  const total = Number(body.total_after_filter) - (items.length - rows.size)
  return { ...body, items: [...rows.values()], count: rows.size, total_after_filter: total }
}

/** `null` for one without a known publisher, and for numbers that JSON readers round. */
function rowOf(row: JsonObject, options: BodyOptions): JsonObject | null {
  const { _meta: meta, listing_id, publisher_id: id, settlement_options = [], ...others } = row
  const isLocal = !isJsonObject(meta) || meta.registry === options.localName
  const identities = isLocal ? localIdentities(id, options) : upstreamIdentities(row)
  const [primary] = identities
  if (primary === undefined || !isSignable(row)) return null
  return {
    listing_id: listing_id!,
    // A buyer refuses a row whose publisher changes with the source, or with its key: its first key stays.
    publisher_id: isLocal ? id! : (textAt(meta, 'publisher_aliases', 0) ?? publisherOf(primary)),
    publisher_principals: { identities },
    settlement_options,
    ...others,
    ...(meta !== undefined && { _meta: meta }),
  }
}

function localIdentities(id: JsonValue | undefined, { publisherWith, nowSeconds }: BodyOptions): Principal[] {
  const publisher = typeof id === 'number' ? publisherWith(id) : null
  return publisher === null ? [] : principalsIn(activeIdentities(publisher, nowSeconds() * MICROS_PER_SECOND))
}

/** What a signed upstream says itself, where its publisher is among them. */
function upstreamIdentities(row: JsonObject): Principal[] {
  const text = textAt(row, '_meta', 'publisher')
  const publisher = text === null ? null : readPublisher(text)
  if (publisher === null) return []
  const list = at(row, 'publisher_principals', 'identities')
  const own =
    Array.isArray(list) && list.length <= MAX_ACTIVE_PRINCIPALS ? principalsIn(list.filter(isJsonObject)) : []
  const others = own.filter((one) => !isSamePrincipal(one, publisher))
  return own.length === others.length ? [publisher] : [publisher, ...others.slice(0, 1)]
}

const MICROS_PER_SECOND = 1_000_000

const principalsIn = (list: readonly { scheme?: unknown; identifier?: unknown }[]): Principal[] =>
  list.map(({ scheme, identifier }) => readPrincipal(scheme, identifier)).filter((one) => one !== null)

function publisherRow(row: JsonObject, { publisherWith, nowSeconds }: BodyOptions): JsonObject {
  const publisher = typeof row.publisher_id === 'number' ? publisherWith(row.publisher_id) : null
  const now = nowSeconds() * MICROS_PER_SECOND
  return { ...row, identities: publisher === null ? [] : identityRows(publisher, now) }
}

/** The primary one first, then those that it has replaced, the latest first. */
const identityRows = ({ scheme, identifier, rotations }: Publisher, now: Micros): JsonObject[] => [
  identityRow({ scheme, identifier }, 'primary'),
  ...rotations.toReversed().map((rotation) => identityRow(rotation.current, ...replacement(rotation, now))),
]

function replacement(rotation: Rotation, now: Micros): [string, string, string | null] {
  const { retiredAt } = rotation
  return [
    isRetired(rotation, now) ? 'retired' : 'overlap',
    formatTimestamp(activeUntil(rotation)),
    retiredAt === null ? null : formatTimestamp(retiredAt),
  ]
}

const identityRow = (
  principal: { scheme: string; identifier: string },
  status: string,
  activeUntil: string | null = null,
  retiredAt: string | null = null,
): JsonObject => ({
  principal,
  status,
  active_until: activeUntil,
  retired_at: retiredAt,
  disabled_at: null,
})
