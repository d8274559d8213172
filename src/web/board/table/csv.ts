import type { PaymentOption } from '../../../domain/price/payment-option.ts'
import type { PricePer } from '../../../domain/price/price-key.ts'
import type { TokenTable } from '../../../domain/price/token.ts'
import { amountOf, shownOption } from '../prices.ts'
import type { ListingRow } from '../state/listing-row.ts'

/** RFC 4180. */
export function listingsCsv(rows: readonly ListingRow[], tokens: TokenTable): string {
  const lines = rows.map((row) => {
    const option = shownOption(row, tokens)
    return COLUMNS.map(([, cellOf]) => String(cellOf({ row, option, tokens }) ?? ''))
  })
  const head = COLUMNS.map(([name]) => name)
  return [head, ...lines].map((cells) => `${cells.map(csvCell).join(',')}\r\n`).join('')
}

type Priced = { row: ListingRow; option: PaymentOption | null; tokens: TokenTable }

const COLUMNS: readonly (readonly [name: string, cellOf: (priced: Priced) => unknown])[] = [
  ['listing_id', ({ row }) => row.id],
  ['registry', ({ row }) => row.registry],
  ['offer', ({ row }) => row.offer],
  ['gpus', ({ row }) => row.gpus],
  ['region', ({ row }) => row.region],
  ['price_per_gpu', (priced) => amountPer('gpu', priced)],
  ['price', (priced) => amountPer('offer', priced)],
  ['unit', ({ option }) => option?.unit],
  [
    'token',
    ({ option, tokens }) => option && (tokens.find(option.chain, option.token)?.symbol ?? 'base units'),
  ],
  ['token_address', ({ option }) => option?.token],
  ['chain', ({ option }) => option?.chain],
  ['seller', ({ row }) => row.publisher],
  ['storefront_url', ({ row }) => row.storefrontUrl],
  ['created_at', ({ row }) => (row.createdAt !== null ? new Date(row.createdAt).toISOString() : null)],
]

const amountPer = (per: PricePer, { row, option, tokens }: Priced) =>
  option && amountOf(option, row.gpus, per, tokens)?.replaceAll(',', '')

/** Spreadsheets run a cell that begins like a formula. */
const csvCell = (text: string): string =>
  `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`
