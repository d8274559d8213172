import { shippedVocabulary } from '../../config/vocabulary.ts'
import { plural } from '../../domain/plural.ts'
import { comparePriceKeys, type PriceKey } from '../../domain/price/price-key.ts'
import { TokenTable } from '../../domain/price/token.ts'
import { isJsonObject, type JsonValue, parseJson } from '../../json/value.ts'
import type { Meaning, Tables } from '../../vocabulary/meaning.ts'
import { countryName } from '../../vocabulary/places/place-table.ts'
import { continentName } from '../../vocabulary/places/read-place-value.ts'
import { type DraftListing, draftJson } from '../listing-file.ts'
import type { KnownMoney } from '../writes/payment-problems.ts'
import { allPrices, priceBasis, priceText } from './price-text.ts'
import { printReport, type Terminal } from './terminal.ts'

/** Different readings that are printed; of so many listings each has a line of its own. */
export const MAX_LISTING_LINES = 20

/** By `listing_id`, the prices as buyers read them: `2.10 USDC/GPU·h`. */
type DraftPrices = ReadonlyMap<string, string>

/** Prints how filters by model and place read the listings, and their prices. @returns the prices of each */
export function printBuyersReading(
  terminal: Terminal,
  drafts: readonly DraftListing[],
  facts: readonly KnownMoney[],
): DraftPrices {
  const vocabulary = shippedVocabulary()
  const tokens = new TokenTable(facts.flatMap(({ tokens: { all } }) => all))
  const readings = new Map<string, number>()
  const priced: PricedDraft[] = []
  for (const draft of drafts) {
    const listing = parseJson(draftJson(draft))
    const words = readAs(vocabulary.read(listing, ''), vocabulary.tables)
    if (words !== '') readings.set(words, (readings.get(words) ?? 0) + 1)
    priced.push({ id: draft.listingId, ...priceOf(listing, tokens) })
  }
  for (const [words, count] of [...readings].slice(0, MAX_LISTING_LINES))
    printReport(terminal, `[listings] ${plural(count, 'listing is', 'listings are')} read as ${words}`)
  printPrices(terminal, priced)
  return new Map(priced.map(({ id, text }) => [id, text]))
}

type PricedDraft = { id: string; text: string; basis: string; key: PriceKey }

/** Those of a file, the lowest first; of many the lowest and the highest. */
function printPrices(terminal: Terminal, priced: readonly PricedDraft[]): void {
  const groups = [...Map.groupBy(priced, ({ text }) => text)].sort(
    ([, [a]], [, [b]]) => compareTexts(a!.basis, b!.basis) || comparePriceKeys(a!.key, b!.key),
  )
  const lines = groups.map(([text, group]) => `[listings] ${text}: ${describeIds(group.map(({ id }) => id))}`)
  const isLong = lines.length > 2 * MAX_LISTING_LINES
  for (const line of isLong ? lines.slice(0, MAX_LISTING_LINES) : lines) printReport(terminal, line)
  if (!isLong) return
  printReport(terminal, `[listings] and ${lines.length - 2 * MAX_LISTING_LINES} prices between these and`)
  for (const line of lines.slice(-MAX_LISTING_LINES)) printReport(terminal, line)
}

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** `gpu-1`, or `12 listings, such as gpu-1`. */
export function describeIds([first = '', ...others]: readonly string[]): string {
  return others.length === 0 ? first : `${others.length + 1} listings, such as ${first}`
}

/** `basis` and `key` are of its first price. */
function priceOf(listing: JsonValue, tokens: TokenTable): Omit<PricedDraft, 'id'> {
  const prices = isJsonObject(listing) ? allPrices(listing, tokens) : []
  const [first] = prices
  return {
    text: prices.map(priceText).join(' or ') || 'no price',
    basis: first === undefined ? '' : priceBasis(first),
    key: first?.key ?? 0,
  }
}

/** `H100 SXM, 80 GB, in Finland (FI)`; empty where nothing is known. */
function readAs({ gpu, place }: Meaning, { places }: Tables): string {
  const { country, continent } = place
  const parts = [
    gpu.model && [gpu.model, gpu.variant].filter((part) => part !== null).join(' '),
    gpu.memoryGb.length > 0 && `${gpu.memoryGb.join(' or ')} GB`,
    country === null
      ? continent !== null && `in ${continentName(continent)}`
      : `in ${countryName(places, country)} (${country})`,
  ]
  return parts.filter(Boolean).join(', ')
}
