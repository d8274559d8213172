import { meaningAt } from '../source-rows.ts'
import type { PlaceReading } from './place-model.ts'
import { placeOf, UNKNOWN_PLACE } from './place-reading.ts'
import type { PlaceTable } from './place-table.ts'
import { plainText } from './place-words.ts'
import { readCloudRegion, readRegion } from './read-cloud-region.ts'
import { readCodeAtEnd, readCodes } from './read-codes.ts'
import { scanPlace } from './scan-place.ts'

type Rule = (table: PlaceTable, plain: string) => PlaceReading | null

/** In their order; the first that gives a reading counts. */
const RULES: readonly Rule[] = [readCodeAtEnd, readCodes, readNames, readCloudRegion, readRegion]

/**
 * Where a listing is, by the region that its seller writes. A row for the source and this very text wins; then rules read
 * the text. Any JSON value may come; only texts of at most 200 characters are read.
 * @param source the name of the Registry; rows of `eu` count for `eu/curated`, too
 */
export function readPlace(table: PlaceTable, source: string, text: unknown): PlaceReading {
  if (typeof text !== 'string') return UNKNOWN_PLACE
  const own = meaningAt(table.sources, source, text)
  if (own !== null) return own
  const plain = plainText(text)
  if (plain === null) return UNKNOWN_PLACE
  for (const rule of RULES) {
    const reading = rule(table, plain)
    if (reading !== null) return reading
  }
  return UNKNOWN_PLACE
}

/** Names of countries and states as words: `paris-france-5`, `Finland 3`, `Tokyo, Japan`, `New Jersey`. */
function readNames(table: PlaceTable, plain: string): PlaceReading | null {
  const { countries, continents } = scanPlace(table, plain)
  const [country, ...more] = countries
  if (country === undefined) return null
  return more.length > 0 ? UNKNOWN_PLACE : placeOf(table, country, continents)
}
