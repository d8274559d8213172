import { shippedVocabulary } from '../../config/vocabulary.ts'
import { plural } from '../../domain/plural.ts'
import { paymentProblems } from '../../domain/price/payment-problems.ts'
import type { TokenTable } from '../../domain/price/token.ts'
import { isJsonObject, type JsonValue, parseJson, textAt } from '../../json/value.ts'
import type { Meaning, Tables } from '../../vocabulary/meaning.ts'
import { countryName } from '../../vocabulary/places/place-table.ts'
import { continentName } from '../../vocabulary/places/read-place-value.ts'
import { type DraftListing, draftJson } from '../listing-file.ts'
import { allPrices, priceText } from './price-text.ts'
import { printReport, printWarning, type Terminal } from './terminal.ts'

/** Different readings that are printed; of so many listings each has a line of its own. */
export const MAX_LISTING_LINES = 20

/** By `listing_id`, the prices as buyers read them: `2.10 USDC/GPU·h`. */
export type DraftPrices = ReadonlyMap<string, string>

/**
 * Prints how filters by model and place read the listings, and which of them filters and prices miss.
 * @returns the prices of each
 */
export function printBuyersReading(
  terminal: Terminal,
  drafts: readonly DraftListing[],
  tokens: TokenTable,
): DraftPrices {
  const vocabulary = shippedVocabulary()
  const readings = new Map<string, number>()
  const problems = new Map<string, string[]>()
  const prices = new Map<string, string>()
  for (const draft of drafts) {
    const { listingId } = draft
    const listing = parseJson(draftJson(draft))
    const meaning = vocabulary.read(listing, '')
    const words = readAs(meaning, vocabulary.tables)
    if (words !== '') readings.set(words, (readings.get(words) ?? 0) + 1)
    for (const problem of [...notFound(listing, meaning), ...paymentProblems(listing, tokens)])
      problems.set(problem, [...(problems.get(problem) ?? []), listingId])
    prices.set(listingId, pricesOf(listing, tokens))
  }
  for (const [words, count] of [...readings].slice(0, MAX_LISTING_LINES))
    printReport(terminal, `[listings] ${plural(count, 'listing is', 'listings are')} read as ${words}`)
  for (const [problem, ids] of [...problems].slice(0, MAX_LISTING_LINES))
    printWarning(terminal, `${describeIds(ids)}: ${problem}`)
  return prices
}

/** `gpu-1`, or `12 listings, such as gpu-1`. */
export function describeIds([first = '', ...others]: readonly string[]): string {
  return others.length === 0 ? first : `${others.length + 1} listings, such as ${first}`
}

function pricesOf(listing: JsonValue, tokens: TokenTable): string {
  const prices = isJsonObject(listing) ? allPrices(listing, tokens) : []
  return prices.map(priceText).join(' or ') || 'no price'
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

function notFound(listing: JsonValue, { gpu, place }: Meaning): string[] {
  const [model, region] = ['gpu_model', 'region'].map((name) => textAt(listing, 'offer_resource', name))
  return [
    ...(gpu.isGpu && gpu.model === null
      ? [
          `filters by model miss it: ${model ? `'${model}' is not a known model` : 'it has GPUs, and no gpu_model'}`,
        ]
      : []),
    ...(place.country === null && region
      ? [`filters by country miss it: '${region}' names no known country`]
      : []),
  ]
}
