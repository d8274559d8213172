import { isJsonObject, type JsonObject, type JsonValue, textAt } from '../../json/value.ts'
import { type Principal, publisherOf, readPrincipal, readPublisher } from '../../signing/principal.ts'

export type BodyOptions = {
  /** Of the local Registry as a source; its rows keep their numbers of publishers. */
  localName: string
  /** Who has that number here; `null` for another number. */
  publisherWith: (id: number) => string | null
  /** The etag of a filter spec on the signed line. */
  etagOf: (etag: string) => string
}

/** The members of a body as readers of the signed line have them. Rows that cannot be signed are left out, and counted. */
export function inSignedLine(operation: string, body: JsonObject, options: BodyOptions): JsonObject {
  const { items, listing, filters, etag, current_etag: current } = body
  if (typeof current === 'string') return { ...body, current_etag: options.etagOf(current) }
  if (operation === 'publisher.get') return publisherRow(body)
  if (operation === 'listing.get' && isJsonObject(listing))
    return { ...body, listing: rowOf(listing, options) }
  if (operation === 'filter.get' && Array.isArray(filters) && typeof etag === 'string')
    return { ...body, etag: options.etagOf(etag), filters: filters.map(withQueryNames) }
  if (operation === 'listing.list' && Array.isArray(items)) return pageOf(body, items, options)
  if (operation === 'publisher.list' && Array.isArray(items))
    return { ...body, items: items.filter(isJsonObject).map(publisherRow) }
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
  const leftOut = items.length - rows.size
  const total = Number(body.total_after_filter) - leftOut
  return {
    ...body,
    items: [...rows.values()],
    count: rows.size,
    total_after_filter: total,
    ...(leftOut > 0 && { left_out: leftOut }),
  }
}

/** `null` for one without a known publisher, and for numbers that JSON readers round. */
function rowOf(row: JsonObject, { localName, publisherWith }: BodyOptions): JsonObject | null {
  const { _meta: meta, publisher_id: id, settlement_options: options = [] } = row
  const text = isJsonObject(meta)
    ? textAt(meta, 'publisher')
    : typeof id === 'number'
      ? publisherWith(id)
      : null
  const principal = text === null ? null : readPublisher(text)
  if (principal === null || !isSignable(row)) return null
  const isLocal = !isJsonObject(meta) || meta.registry === localName
  return {
    ...row,
    // A buyer refuses a row whose number of its publisher changes with the source.
    publisher_id: isLocal ? id! : publisherOf(principal),
    publisher_principals: { identities: [{ ...principal }] },
    settlement_options: options,
  }
}

/** Whether every reader hashes the JSON text of it alike: whole numbers beyond ±(2^53 − 1) are refused as literals. */
function isSignable(value: JsonValue): boolean {
  if (typeof value === 'number')
    return !Number.isInteger(value) || Number.isSafeInteger(value) || Math.abs(value) >= 1e21
  if (Array.isArray(value)) return value.every(isSignable)
  if (isJsonObject(value)) return Object.values(value).every((member) => isSignable(member!))
  return typeof value === 'string' ? value.isWellFormed() : typeof value !== 'bigint'
}

const withQueryNames = (filter: JsonValue): JsonValue =>
  isJsonObject(filter) ? { ...filter, query_name: null, query_aliases: [] } : filter

function publisherRow(row: JsonObject): JsonObject {
  const list = Array.isArray(row.identities) ? row.identities.filter(isJsonObject) : []
  const principals = list.map(({ scheme, identifier }) => readPrincipal(scheme, identifier))
  return { ...row, identities: principals.filter((one) => one !== null).map(identityRow) }
}

const identityRow = (principal: Principal): JsonObject => ({
  principal: { ...principal },
  status: 'primary',
  active_until: null,
  retired_at: null,
  disabled_at: null,
})
