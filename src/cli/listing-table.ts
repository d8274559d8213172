import type { JsonObject } from '../domain/json.ts'
import { showAge } from './age.ts'
import { priceOf, showPrice } from './price.ts'
import { type Row, readRow, textAt } from './row.ts'
import { safeText } from './safe-text.ts'
import { type Column, renderTable } from './table.ts'

const COLUMNS: readonly Column[] = [
  { title: 'ID', least: 8 },
  { title: 'PRICE/H', align: 'right', least: 10 },
  { title: 'TOKEN', least: 11 },
  { title: 'GPU/SERVICE', least: 8 },
  { title: 'COUNT', align: 'right', least: 5 },
  { title: 'REGION', least: 8 },
  { title: 'REGISTRY', least: 15 },
  { title: 'PUBLISHER', least: 11 },
  { title: 'AGE', align: 'right', least: 3 },
]

/** Lines of a table of listings; the first one is its titles. Prices are base units of the token (`price.ts`). */
export const listingTable = (rows: readonly Row[], width: number | null): string[] =>
  renderTable(
    COLUMNS,
    rows.map((row) => cells(readRow(row)).map((cell) => safeText(cell ?? '-'))),
    width,
  )

const cells = (listing: JsonObject): (string | null)[] => {
  const price = priceOf(listing)
  const offer = (name: string) => textAt(listing, 'offer_resource', name)
  return [
    textAt(listing, 'listing_id'),
    price === null ? null : showPrice(price),
    price?.token ? shortAddress(price.token) : null,
    offer('gpu_model') ?? offer('service_name'),
    offer('gpu_count'),
    offer('region'),
    textAt(listing, '_meta', 'registry')?.replace(/^https?:\/\//, '') ?? null,
    shortAddress(textAt(listing, '_meta', 'publisher') ?? textAt(listing, 'publisher_id') ?? '-'),
    showAge(textAt(listing, 'created_at')),
  ]
}

const shortAddress = (text: string): string =>
  /^0x[0-9a-f]{40}$/i.test(text) ? `${text.slice(0, 6)}…${text.slice(-4)}` : text
