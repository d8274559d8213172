import type { TokenTable } from '../../../domain/price/token.ts'
import { amountOf, shownOption } from '../prices.ts'
import type { ListingRow } from '../state/listing-row.ts'

/** RFC 4180. */
export const listingsCsv = (rows: readonly ListingRow[], tokens: TokenTable): string =>
  [HEAD, ...rows.map((row) => cellsOf(row, tokens))]
    .map((cells) => `${cells.map(csvCell).join(',')}\r\n`)
    .join('')

const HEAD = [
  'listing_id',
  'registry',
  'offer',
  'gpus',
  'region',
  'price_per_gpu',
  'price',
  'unit',
  'token',
  'token_address',
  'chain',
  'seller',
  'storefront_url',
  'created_at',
]

function cellsOf(row: ListingRow, tokens: TokenTable): string[] {
  const option = shownOption(row, tokens)
  const amount = (per: 'gpu' | 'offer') =>
    option === null ? '' : (amountOf(option, row.gpus, per, tokens)?.replaceAll(',', '') ?? '')
  return [
    row.id,
    row.registry ?? '',
    row.offer,
    String(row.gpus ?? ''),
    row.region ?? '',
    amount('gpu'),
    amount('offer'),
    option?.unit ?? '',
    option === null ? '' : (tokens.find(option.chain, option.token)?.symbol ?? 'base units'),
    option?.token ?? '',
    option?.chain ?? '',
    row.publisher ?? '',
    row.storefrontUrl ?? '',
    row.createdAt === null ? '' : new Date(row.createdAt).toISOString(),
  ]
}

/** Spreadsheets run a cell that begins like a formula. */
const csvCell = (text: string): string =>
  `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`
