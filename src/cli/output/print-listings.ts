import type { TokenTable } from '../../domain/price/token.ts'
import { safeText } from '../../domain/safe-text.ts'
import { formatAgeSince } from '../../domain/timestamp.ts'
import { type JsonObject, parseObject, textAt } from '../../json/value.ts'
import type { PresentationRecord } from '../../presentation/record.ts'
import { abbreviateAddress, allPrices, priceText, shownPrice } from './price-text.ts'
import { GAP, renderTable, type TableColumn } from './table.ts'
import { bold, escapeForTerminal, isInteractive, print, printText, type Terminal } from './terminal.ts'

export type OutputOptions = { table?: boolean; json?: boolean; ndjson?: boolean }

/** `rows`: JSON texts of listings. */
export async function printListings(
  terminal: Terminal,
  rows: readonly string[],
  tokens: TokenTable,
  options: OutputOptions,
): Promise<void> {
  if (isHumanOutput(terminal, options)) await printTable(terminal, rows, tokens)
  else if (options.ndjson) await print(terminal, rows.map((row) => `${lineOf(terminal, row)}\n`).join(''))
  else if (rows.length === 0) await print(terminal, '[]\n')
  else await print(terminal, `[\n${rows.map((row) => escapeForTerminal(terminal, row)).join(',\n')}\n]\n`)
}

export const isHumanOutput = ({ stdout }: Terminal, { table, json, ndjson }: OutputOptions): boolean =>
  table === true || (stdout.isTTY === true && !json && !ndjson)

/** Line breaks in JSON text are whitespace between tokens. */
const lineOf = (terminal: Terminal, row: string): string =>
  escapeForTerminal(terminal, row).replace(/[\r\n]+/g, ' ')

async function printTable(terminal: Terminal, rows: readonly string[], tokens: TokenTable): Promise<void> {
  if (rows.length === 0) {
    await print(terminal, 'no listings match\n')
    return
  }
  const width = terminal.stdout.isTTY ? terminal.stdout.columns || 80 : null
  const [titles = '', ...lines] = await listingTable(rows, tokens, width)
  const head = isInteractive(terminal, terminal.stdout) ? bold(titles) : titles
  await printText(terminal, `${[head, ...lines].join('\n')}\n`)
}

type Cell = TableColumn & { show: (listing: JsonObject, tokens: TokenTable) => string | null }

const offer =
  (...names: readonly string[]) =>
  (listing: JsonObject): string | null =>
    names.map((name) => textAt(listing, 'offer_resource', name)).find((text) => text !== null) ?? null

/** Shown whole up to this width: a UUID can be copied, and a price in units has the beginning of its token. */
const WHOLE: Readonly<Record<string, number>> = { ID: 36, PRICE: 27 }

const COLUMNS: readonly Cell[] = [
  { title: 'ID', minWidth: 9, show: (listing) => textAt(listing, 'listing_id') },
  { title: 'PRICE', align: 'right', minWidth: 9, show: (listing, tokens) => shownText(listing, tokens) },
  { title: 'GPU/SERVICE', minWidth: 6, show: offer('gpu_model', 'service_name') },
  { title: 'COUNT', align: 'right', minWidth: 5, show: offer('gpu_count') },
  { title: 'REGION', minWidth: 6, show: offer('region') },
  {
    title: 'REGISTRY',
    minWidth: 12,
    keepsEnd: true,
    show: (listing) => textAt(listing, '_meta', 'registry')?.replace(/^https?:\/\//, '') ?? null,
  },
  {
    title: 'PUBLISHER',
    minWidth: 8,
    show: (listing) =>
      abbreviateAddress(textAt(listing, '_meta', 'publisher') ?? textAt(listing, 'publisher_id') ?? '') ||
      null,
  },
  {
    title: 'AGE',
    align: 'right',
    minWidth: 3,
    show: (listing) => formatAgeSince(textAt(listing, 'created_at')),
  },
]

/** Left out in this order, until ids and prices fit. */
const OPTIONAL = ['PUBLISHER', 'REGISTRY', 'AGE', 'REGION']

/** `width`: `null` without a terminal. */
function listingTable(rows: readonly string[], tokens: TokenTable, width: number | null): Promise<string[]> {
  const cells = rows.map((row) => {
    const listing = parseObject(row)
    return COLUMNS.map(({ show }) => safeText(show(listing, tokens) ?? '-'))
  })
  const widest = (n: number): number => cells.reduce((most, row) => Math.max(most, row[n]!.length), 0)
  let columns = COLUMNS.map(({ title, minWidth = 0, ...column }, n) => {
    const least = Math.max(minWidth, Math.min(widest(n), WHOLE[title] ?? 0))
    return { ...column, title, n, minWidth: Math.min(least, Math.max(title.length, widest(n))) }
  })
  for (const title of OPTIONAL) {
    if (width === null || sumOfWidths(columns) <= width) break
    columns = columns.filter((column) => column.title !== title)
  }
  return renderTable(
    columns,
    cells.map((row) => columns.map(({ n }) => row[n]!)),
    width,
  )
}

const sumOfWidths = (columns: readonly { minWidth: number }[]): number =>
  columns.reduce((sum, { minWidth }) => sum + minWidth + GAP.length, -GAP.length)

function shownText(listing: JsonObject, tokens: TokenTable): string | null {
  const price = shownPrice(listing, tokens)
  return price && priceText(price)
}

/** All prices, since a listing may accept several tokens; then `members`, by default its own, as YAML. */
export async function listingSheet(
  row: string,
  tokens: TokenTable,
  members?: PresentationRecord,
): Promise<string> {
  const { stringify } = await import('yaml')
  const listing = parseObject(row)
  const prices = allPrices(listing, tokens).map(priceText).join(' or ') || 'no price advertised'
  const age = formatAgeSince(textAt(listing, 'created_at'))
  const headline = `${textAt(listing, 'listing_id') ?? ''}  ${prices}  published ${age} ago`
  const yaml = stringify(members ?? listing, { lineWidth: 0, aliasDuplicateObjects: false })
  const lines = [headline, '', ...yaml.trimEnd().split('\n')]
  return lines.map((line) => `${safeText(line)}\n`).join('')
}
