import { shippedVocabulary } from '../../config/vocabulary.ts'
import { plural } from '../../domain/plural.ts'
import { type JsonValue, parseJson, textAt } from '../../json/value.ts'
import type { Meaning, Tables } from '../../vocabulary/meaning.ts'
import { countryName } from '../../vocabulary/places/place-table.ts'
import { continentName } from '../../vocabulary/places/read-place-value.ts'
import { type DraftListing, draftJson } from '../listing-file.ts'
import { printReport, printWarning, type Terminal } from './terminal.ts'

/** Different readings that are printed. */
const MAX_LINES = 20

/** Prints how filters by model and place read the listings, and which of them those filters miss. */
export function printBuyersReading(terminal: Terminal, drafts: readonly DraftListing[]): void {
  const vocabulary = shippedVocabulary()
  const counts = new Map<string, number>()
  const problems = new Map<string, number>()
  for (const draft of drafts) {
    const listing = parseJson(draftJson(draft))
    const meaning = vocabulary.read(listing, '')
    const words = readAs(meaning, vocabulary.tables)
    if (words !== '') counts.set(words, (counts.get(words) ?? 0) + 1)
    for (const problem of notFound(listing, meaning)) problems.set(problem, (problems.get(problem) ?? 0) + 1)
  }
  for (const [words, count] of [...counts].slice(0, MAX_LINES))
    printReport(terminal, `[listings] ${plural(count, 'listing is', 'listings are')} read as ${words}`)
  for (const [problem, count] of [...problems].slice(0, MAX_LINES))
    printWarning(terminal, `${plural(count, 'listing')}: ${problem}`)
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
