import { meaningAt } from '../source-rows.ts'
import type { Continent } from './country-library.ts'
import type { PlaceReading } from './place-model.ts'
import type { PlaceTable } from './place-table.ts'
import { keyOfWords, nameKey, type PlaceWord, placeWords, plainText } from './place-words.ts'
import { codesOf, scanPlace } from './scan-place.ts'

const UNKNOWN_PLACE: PlaceReading = { country: null, continent: null }

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

const TWO_LETTERS = /^[A-Z]{2}$/
/** Of a subdivision or a city, or a number: `MTL`, `FRA1`, `03`, `2a`. */
const FURTHER_CODE = /^(?:\p{L}{1,3}\p{N}{0,3}|\p{N}{1,4}\p{L}?)$/u
const NUMBER = /^\p{N}{1,4}$/u
const ALPHA3_WITH_NUMBER = /^([A-Z]{3})[\s\p{Pd}_./]+\p{N}{1,4}$/u

/** Codes behind a comma at the end: `Frankfurt, DE`, `Michigan, US, NA`, `Lebanon, OH`. */
function readCodeAtEnd(table: PlaceTable, plain: string): PlaceReading | null {
  const parts = plain.split(',').map((part) => part.trim())
  if (parts.length < 2) return null
  const code = parts.at(-1)!
  const before = parts.at(-2)!
  const region = table.regions.get(code)
  if (region !== undefined && isCode(table, before)) {
    const country = readCode(table, before, parts.slice(0, -2)) ?? table.codes.get(before)
    return country === undefined ? UNKNOWN_PLACE : placeOf(table, country, region.continents)
  }
  const heads = parts.slice(0, -1)
  if (region === undefined ? isCode(table, code) : table.states.has(code)) {
    const country = readCode(table, code, heads)
    return country === null ? UNKNOWN_PLACE : placeOf(table, country, null)
  }
  if (region !== undefined) return readRegionAtEnd(table, code, heads)
  return TWO_LETTERS.test(code) ? UNKNOWN_PLACE : null
}

const isCode = ({ codes, states }: PlaceTable, code: string): boolean => codes.has(code) || states.has(code)

/** The country that a code at the end means: a country's, a US state's, or (`Milano, MI`, `Curitiba, PR`) neither. */
function readCode(table: PlaceTable, code: string, heads: readonly string[]): string | null {
  const country = table.codes.get(code)
  const homes = heads.flatMap((part) => table.cities.get(cityKey(part)) ?? [])
  const isInState = homes.includes(`US-${code}`)
  if (country !== undefined && table.states.has(code))
    return readSharedCode(table, { country, isInState, isInCountry: homes.includes(country) }, heads)
  if (country === undefined) return isInState || homes.every((home) => home.startsWith('US-')) ? 'US' : null
  const provinces = table.provinces.get(code) ?? []
  return homes.some((home) => provinces.includes(home)) ? null : country
}

/** A country's code that is a state's, too: what is before it decides. */
function readSharedCode(
  table: PlaceTable,
  { country, isInState, isInCountry }: { country: string; isInState: boolean; isInCountry: boolean },
  heads: readonly string[],
): string | null {
  const { countries, continents } = scanPlace(table, heads.join(', '))
  const named = countries.size === 1 ? [...countries][0] : undefined
  const mayBe = (one: string): boolean => continents !== null && isWithin(table, one, continents)
  const isCountry = isInCountry || named === country
  const isState = isInState || named === 'US' || heads.includes('US')
  if (isCountry !== isState) return isCountry ? country : 'US'
  return !isCountry && mayBe(country) !== mayBe('US') ? (mayBe(country) ? country : 'US') : null
}

/** Without numbers: `Toronto 2`. */
const cityKey = (part: string): string => keyOfWords(placeWords(part).filter(({ isNumber }) => !isNumber))

/** `Germany, EU`, `Frankfurt, EU`. A code that is a country's, too, says nothing alone: `Windhoek, NA`. */
function readRegionAtEnd(table: PlaceTable, code: string, heads: readonly string[]): PlaceReading {
  const { countries, continents } = scanPlace(table, heads.join(', '))
  const within = table.regions.get(code)!.continents.filter((one) => continents?.includes(one) ?? true)
  const [country, ...more] = countries
  if (country === undefined) return isRegionOnly(table, code) ? regionOf(within) : UNKNOWN_PLACE
  if (more.length > 0) return UNKNOWN_PLACE
  return placeOf(table, country, table.codes.get(code) === country ? null : within)
}

/** Codes between hyphens: `US`, `CA-MTL-1`, `EU-RO-1`, `Europe-PL`, `FIN-02`. */
function readCodes(table: PlaceTable, plain: string): PlaceReading | null {
  const alpha3 = countryOfAlpha3(table, ALPHA3_WITH_NUMBER.exec(plain)?.[1])
  if (alpha3 !== undefined) return placeOf(table, alpha3, null)
  const [first, ...further] = codesOf(plain) as [string, ...string[]]
  if (!further.every((code) => FURTHER_CODE.test(code))) return null
  const named = table.names.get(nameKey(first))
  const region = table.regions.get(first) ?? (named?.kind === 'region' ? named : undefined)
  if (region === undefined) return readFirstCode(table, first, further)
  const [next = '', number = ''] = further
  const country = table.codes.get(next) ?? (NUMBER.test(number) ? countryOfAlpha3(table, next) : undefined)
  return country === undefined ? null : placeOf(table, country, region.continents)
}

function readFirstCode(table: PlaceTable, first: string, further: readonly string[]): PlaceReading | null {
  const country = table.codes.get(first)
  if (country === undefined) return null
  // `CA-US-1`: a state before its country.
  return table.states.has(first) && further[0] === 'US' ? UNKNOWN_PLACE : placeOf(table, country, null)
}

const countryOfAlpha3 = ({ alpha3, ambiguous }: PlaceTable, code: string | undefined): string | undefined =>
  code === undefined || ambiguous.has(code) ? undefined : alpha3.get(code)

/** Names of countries and states as words: `paris-france-5`, `Finland 3`, `Tokyo, Japan`, `New Jersey`. */
function readNames(table: PlaceTable, plain: string): PlaceReading | null {
  const { countries, continents } = scanPlace(table, plain)
  const [country, ...more] = countries
  if (country === undefined) return null
  return more.length > 0 ? UNKNOWN_PLACE : placeOf(table, country, continents)
}

const MAX_FURTHER_LETTERS = 3

/** Codes with a point of the compass: `us-central1`, `eu-west1`, `West US 2`. */
function readCloudRegion(table: PlaceTable, plain: string): PlaceReading | null {
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
function readRegion(table: PlaceTable, plain: string): PlaceReading | null {
  const { continents } = scanPlace(table, plain)
  const [code = ''] = codesOf(plain)
  const isOpen = table.regions.has(code) && !isRegionOnly(table, code)
  return continents === null || isOpen ? null : regionOf(continents)
}

/** A country, unknown where the text names continents without it. */
function placeOf(table: PlaceTable, country: string, continents: readonly Continent[] | null): PlaceReading {
  if (!isWithin(table, country, continents)) return UNKNOWN_PLACE
  return { country, continent: table.countries.get(country)!.continents[0]! }
}

function isWithin(
  { countries }: PlaceTable,
  country: string,
  continents: readonly Continent[] | null,
): boolean {
  return (
    continents === null ||
    countries.get(country)!.continents.some((continent) => continents.includes(continent))
  )
}

/** A continent, unknown where several are left open, or none. */
function regionOf(continents: readonly Continent[]): PlaceReading {
  const [continent, ...more] = continents
  return continent === undefined || more.length > 0 ? UNKNOWN_PLACE : { country: null, continent }
}

/** Whether a region's code is no country's, and no airport's. */
const isRegionOnly = ({ codes, ambiguous }: PlaceTable, code: string): boolean =>
  !codes.has(code) && !ambiguous.has(code)
