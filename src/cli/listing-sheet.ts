import { showAge } from '../domain/age.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../domain/json.ts'
import { textAt } from '../domain/json-at.ts'
import { grouped, priceOf } from '../domain/price.ts'
import { safeText } from '../domain/safe-text.ts'
import { type Row, readRow } from './row.ts'

export function listingSheet(row: Row): string[] {
  const listing = readRow(row)
  const { _meta, ...members } = listing
  return [
    ...headline(listing),
    ...section(members, ''),
    ...(isJsonObject(_meta) ? ['', 'as found', ...section(_meta, '  ')] : []),
  ]
}

function headline(listing: JsonObject): string[] {
  const price = priceOf(listing)
  const age = showAge(textAt(listing, 'created_at'))
  const asked =
    price === null
      ? 'no price advertised'
      : `${grouped(price.value)} base units of ${price.token ?? 'an unnamed token'} per ${price.per}`
  return [safeText(`${textAt(listing, 'listing_id') ?? ''}  ${asked}  published ${age} ago`), '']
}

function section(members: JsonObject, indent: string): string[] {
  const width = Math.max(0, ...Object.keys(members).map((name) => name.length))
  return Object.entries(members).flatMap(([name, value]) => field(name.padEnd(width), value, indent))
}

function field(name: string, value: JsonValue, indent: string): string[] {
  if (Array.isArray(value) && value.length > 0 && value.some(isNested))
    return value.flatMap((item, n) => field(`${name.trimEnd()}[${n}]`, item, indent))
  if (isJsonObject(value) && Object.keys(value).length > 0)
    return [safeText(`${indent}${name.trimEnd()}`), ...section(value, `${indent}  `)]
  return [safeText(`${indent}${name}  ${plain(value)}`)]
}

const isNested = (value: JsonValue): boolean => typeof value === 'object' && value !== null

function plain(value: JsonValue): string {
  if (value === null) return '-'
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(plain).join(', ')
  return isJsonObject(value) ? 'none' : String(value)
}
