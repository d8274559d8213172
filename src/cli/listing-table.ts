import { showAge } from '../domain/age.ts'
import type { JsonObject } from '../domain/json.ts'
import { textAt } from '../domain/json-at.ts'
import { priceOf, showPrice } from '../domain/price.ts'
import { safeText } from '../domain/safe-text.ts'
import { type Row, readRow } from './row.ts'
import { type Column, renderTable } from './table.ts'

type Cell = Column & { show: (listing: JsonObject) => string | null }

const offer =
  (...names: readonly string[]) =>
  (listing: JsonObject): string | null =>
    names.map((name) => textAt(listing, 'offer_resource', name)).find((text) => text !== null) ?? null

const COLUMNS: readonly Cell[] = [
  { title: 'ID', least: 8, show: (listing) => textAt(listing, 'listing_id') },
  // Wide enough for every price, except those that are meant to break the table.
  { title: 'PRICE/H', align: 'right', least: 14, show: (listing) => showPrice(priceOf(listing)) },
  { title: 'TOKEN', least: 11, show: (listing) => shortAddress(priceOf(listing)?.token ?? null) },
  { title: 'GPU/SERVICE', least: 7, show: offer('gpu_model', 'service_name') },
  { title: 'COUNT', align: 'right', least: 5, show: offer('gpu_count') },
  { title: 'REGION', least: 6, show: offer('region') },
  {
    title: 'REGISTRY',
    least: 10,
    show: (listing) => textAt(listing, '_meta', 'registry')?.replace(/^https?:\/\//, '') ?? null,
  },
  {
    title: 'PUBLISHER',
    least: 8,
    show: (listing) => shortAddress(textAt(listing, '_meta', 'publisher') ?? textAt(listing, 'publisher_id')),
  },
  { title: 'AGE', align: 'right', least: 3, show: (listing) => showAge(textAt(listing, 'created_at')) },
]

const WIDE = 100

/** Prices are in base units (`price.ts`). `width`: `null` without a terminal. */
export function listingTable(rows: readonly Row[], width: number | null): string[] {
  const columns = COLUMNS.filter(({ title }) => width === null || width >= WIDE || title !== 'TOKEN')
  const cells = rows.map((row) => {
    const listing = readRow(row)
    return columns.map(({ show }) => safeText(show(listing) ?? '-'))
  })
  return renderTable(columns, cells, width)
}

const shortAddress = (text: string | null): string | null =>
  text !== null && /^0x[0-9a-f]{40}$/i.test(text) ? `${text.slice(0, 6)}…${text.slice(-4)}` : text
