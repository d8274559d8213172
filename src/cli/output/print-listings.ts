import { formatPrice, groupDigits, priceOf } from '../../domain/price.ts'
import { safeText } from '../../domain/safe-text.ts'
import { formatAgeSince } from '../../domain/timestamp.ts'
import { isJsonObject, type JsonObject, type JsonValue, textAt } from '../../json/value.ts'
import { type ListingJson, parseListingJson } from '../listing-json.ts'
import { renderTable, type TableColumn } from './table.ts'
import { bold, escapeForTerminal, isInteractive, print, type Terminal } from './terminal.ts'

export type OutputOptions = { table?: boolean; json?: boolean; ndjson?: boolean }

export async function printListings(
  terminal: Terminal,
  rows: readonly ListingJson[],
  options: OutputOptions,
): Promise<void> {
  if (isHumanOutput(terminal, options)) await printTable(terminal, rows)
  else if (options.ndjson) await print(terminal, rows.map((row) => `${lineOf(terminal, row)}\n`).join(''))
  else if (rows.length === 0) await print(terminal, '[]\n')
  else await print(terminal, `[\n${rows.map((row) => escapeForTerminal(terminal, row)).join(',\n')}\n]\n`)
}

export const isHumanOutput = ({ stdout }: Terminal, { table, json, ndjson }: OutputOptions): boolean =>
  table === true || (stdout.isTTY === true && !json && !ndjson)

/** Line breaks in JSON text are whitespace between tokens. */
const lineOf = (terminal: Terminal, row: ListingJson): string =>
  escapeForTerminal(terminal, row).replace(/[\r\n]+/g, ' ')

async function printTable(terminal: Terminal, rows: readonly ListingJson[]): Promise<void> {
  if (rows.length === 0) {
    await print(terminal, 'no listings matched\n')
    return
  }
  const width = terminal.stdout.isTTY ? terminal.stdout.columns || 80 : null
  const [titles = '', ...lines] = await listingTable(rows, width)
  const head = isInteractive(terminal, terminal.stdout) ? bold(titles) : titles
  await print(terminal, `${[head, ...lines].join('\n')}\n`)
}

type Cell = TableColumn & { show: (listing: JsonObject) => string | null }

const offer =
  (...names: readonly string[]) =>
  (listing: JsonObject): string | null =>
    names.map((name) => textAt(listing, 'offer_resource', name)).find((text) => text !== null) ?? null

const COLUMNS: readonly Cell[] = [
  { title: 'ID', minWidth: 8, show: (listing) => textAt(listing, 'listing_id') },
  // Wide enough for every price, except those that are meant to break the table.
  { title: 'PRICE/H', align: 'right', minWidth: 14, show: (listing) => formatPrice(priceOf(listing)) },
  { title: 'TOKEN', minWidth: 11, show: (listing) => shortAddress(priceOf(listing)?.token ?? null) },
  { title: 'GPU/SERVICE', minWidth: 7, show: offer('gpu_model', 'service_name') },
  { title: 'COUNT', align: 'right', minWidth: 5, show: offer('gpu_count') },
  { title: 'REGION', minWidth: 6, show: offer('region') },
  {
    title: 'REGISTRY',
    minWidth: 10,
    show: (listing) => textAt(listing, '_meta', 'registry')?.replace(/^https?:\/\//, '') ?? null,
  },
  {
    title: 'PUBLISHER',
    minWidth: 8,
    show: (listing) => shortAddress(textAt(listing, '_meta', 'publisher') ?? textAt(listing, 'publisher_id')),
  },
  {
    title: 'AGE',
    align: 'right',
    minWidth: 3,
    show: (listing) => formatAgeSince(textAt(listing, 'created_at')),
  },
]

const WIDE = 100

/** Prices are in base units (`price.ts`). `width`: `null` without a terminal. */
function listingTable(rows: readonly ListingJson[], width: number | null): Promise<string[]> {
  const columns = COLUMNS.filter(({ title }) => width === null || width >= WIDE || title !== 'TOKEN')
  const cells = rows.map((row) => {
    const listing = parseListingJson(row)
    return columns.map(({ show }) => safeText(show(listing) ?? '-'))
  })
  return renderTable(columns, cells, width)
}

const shortAddress = (text: string | null): string | null =>
  text !== null && /^0x[0-9a-f]{40}$/i.test(text) ? `${text.slice(0, 6)}…${text.slice(-4)}` : text

export function listingSheet(row: ListingJson): string[] {
  const listing = parseListingJson(row)
  const { _meta, ...members } = listing
  return [
    ...headline(listing),
    ...section(members, ''),
    ...(isJsonObject(_meta) ? ['', 'as found', ...section(_meta, '  ')] : []),
  ]
}

function headline(listing: JsonObject): string[] {
  const price = priceOf(listing)
  const age = formatAgeSince(textAt(listing, 'created_at'))
  const offered =
    price === null
      ? 'no price advertised'
      : `${groupDigits(price.value)} base units of ${price.token ?? 'an unnamed token'} per ${price.per}`
  return [safeText(`${textAt(listing, 'listing_id') ?? ''}  ${offered}  published ${age} ago`), '']
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
