import { formatDuration } from '../../domain/duration.ts'
import { hasRates } from '../../domain/price/payment-option.ts'
import type { TokenTable } from '../../domain/price/token.ts'
import { safeText } from '../../domain/safe-text.ts'
import { formatAgeSince } from '../../domain/timestamp.ts'
import { type JsonObject, parseObject, textAt } from '../../json/value.ts'
import {
  abbreviateAddress,
  allPrices,
  basisOfMost,
  isOutlier,
  priceCell,
  priceText,
  shownPrice,
} from './price-text.ts'
import { type ColumnOf, tableText } from './table.ts'
import {
  bold,
  escapeForTerminal,
  isHumanOutput,
  isInteractive,
  type OutputOptions,
  print,
  printText,
  type Terminal,
} from './terminal.ts'

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

/** Line breaks in JSON text are whitespace between tokens. */
const lineOf = (terminal: Terminal, row: string): string =>
  escapeForTerminal(terminal, row).replace(/[\r\n]+/g, ' ')

async function printTable(terminal: Terminal, rows: readonly string[], tokens: TokenTable): Promise<void> {
  if (rows.length === 0) {
    await print(terminal, 'no listings match\n')
    return
  }
  const listings = rows.map(parseObject)
  const table = await tableText(terminal, listings, columnsOf(listings, tokens))
  await printText(terminal, isInteractive(terminal, terminal.stdout) ? table.replace(/^.*/, bold) : table)
}

const offer =
  (...names: readonly string[]) =>
  (listing: JsonObject): string | null =>
    names.map((name) => textAt(listing, 'offer_resource', name)).find((text) => text !== null) ?? null

/** Whole: a UUID can be copied, and a price in units has the beginning of its token. */
function columnsOf(listings: readonly JsonObject[], tokens: TokenTable): readonly ColumnOf<JsonObject>[] {
  const basis = basisOfMost(listings.map((listing) => shownPrice(listing, tokens)))
  return [
    { title: 'ID', minWidth: 9, wholeWidth: 36, cell: (listing) => textAt(listing, 'listing_id') },
    {
      title: basis ?? 'PRICE',
      align: 'right',
      minWidth: 9,
      wholeWidth: 27,
      cell: (listing) => {
        const price = shownPrice(listing, tokens)
        if (price === null) return hasRates(listing) ? 'not readable' : null
        return `${priceCell(price, basis)}${isOutlier(listing) ? ' (bait?)' : ''}`
      },
    },
    { title: 'GPU/SERVICE', minWidth: 6, cell: offer('gpu_model', 'service_name') },
    { title: 'COUNT', align: 'right', minWidth: 5, cell: offer('gpu_count') },
    { title: 'REGION', minWidth: 6, dropOrder: 4, cell: offer('region') },
    {
      title: 'REGISTRY',
      minWidth: 12,
      keepsEnd: true,
      dropOrder: 2,
      cell: (listing) => textAt(listing, '_meta', 'registry')?.replace(/^https?:\/\//, '') ?? null,
    },
    {
      title: 'PUBLISHER',
      minWidth: 8,
      dropOrder: 1,
      cell: (listing) =>
        abbreviateAddress(textAt(listing, '_meta', 'publisher') ?? textAt(listing, 'publisher_id') ?? '') ||
        null,
    },
    {
      title: 'AGE',
      align: 'right',
      minWidth: 3,
      dropOrder: 3,
      cell: (listing) => formatAgeSince(textAt(listing, 'created_at')),
    },
  ]
}

/** All prices, since a listing may accept several tokens, and the longest rent; then the members as YAML. */
export async function listingSheet(row: string, tokens: TokenTable): Promise<string> {
  const listing = parseObject(row)
  const prices =
    allPrices(listing, tokens).map(priceText).join(' or ') ||
    (hasRates(listing) ? 'price not readable' : 'no price advertised')
  const rent = longestRent(listing)
  const headline = [
    textAt(listing, 'listing_id') ?? '',
    prices,
    ...(rent === null ? [] : [`up to ${rent}`]),
    `published ${formatAgeSince(textAt(listing, 'created_at'))} ago`,
  ]
  return `${safeText(headline.join('  '))}\n\n${await yamlText(listing)}`
}

/** `7 days`. */
export function longestRent(listing: JsonObject): string | null {
  const { max_duration_seconds: seconds } = listing
  return typeof seconds === 'number' && Number.isInteger(seconds) ? formatDuration(seconds) : null
}

/** For people. */
export async function yamlText(value: object): Promise<string> {
  const { stringify } = await import('yaml')
  const lines = stringify(value, { lineWidth: 0, aliasDuplicateObjects: false }).trimEnd().split('\n')
  return lines.map((line) => `${safeText(line)}\n`).join('')
}
