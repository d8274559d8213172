import type { PlaceReading } from './place-model.ts'
import { isRegionOnly, placeOf, regionOf } from './place-reading.ts'
import type { PlaceTable } from './place-table.ts'
import { type PlaceWord, placeWords } from './place-words.ts'
import { codesOf, scanPlace } from './scan-place.ts'

const MAX_FURTHER_LETTERS = 3

/** Codes with a point of the compass: `us-central1`, `eu-west1`, `West US 2`. */
export function readCloudRegion(table: PlaceTable, plain: string): PlaceReading | null {
  const words = placeWords(plain)
  const further = words.filter((word) => !isCompass(table, word) && !word.isNumber)
  if (words.length < 2 || words.every((word) => !isCompass(table, word))) return null
  const isHyphened = /^[\p{L}\p{N}\p{Pd}_.]+$/u.test(plain)
  return isHyphened ? readHyphened(table, words[0]!, further) : readSpaced(table, further)
}

/** Case does not count. Words behind the code are at most as long as `gov` and `par`. */
function readHyphened(
  table: PlaceTable,
  first: PlaceWord,
  [code, ...further]: readonly PlaceWord[],
): PlaceReading | null {
  const isCode = first === code && further.every(({ text }) => text.length <= MAX_FURTHER_LETTERS)
  return isCode ? placeOfCode(table, code.raw.toUpperCase()) : null
}

/** A single code, which is no US state's. */
function readSpaced(table: PlaceTable, [code, ...further]: readonly PlaceWord[]): PlaceReading | null {
  if (code === undefined || further.length > 0 || table.states.has(code.raw)) return null
  return table.regions.has(code.raw) && !isRegionOnly(table, code.raw) ? null : placeOfCode(table, code.raw)
}

function placeOfCode(table: PlaceTable, code: string): PlaceReading | null {
  const region = table.regions.get(code)
  if (region !== undefined) return regionOf(region.continents)
  const country = table.codes.get(code)
  return country === undefined ? null : placeOf(table, country, null)
}

const isCompass = ({ names }: PlaceTable, { text }: PlaceWord): boolean => names.get(text)?.kind === 'compass'

/** Words of continents and regions, and a region's code before a hyphen that is nothing else: `EU-1`. */
export function readRegion(table: PlaceTable, plain: string): PlaceReading | null {
  const { continents } = scanPlace(table, plain)
  const [code = ''] = codesOf(plain)
  const isOpen = table.regions.has(code) && !isRegionOnly(table, code)
  return continents === null || isOpen ? null : regionOf(continents)
}
