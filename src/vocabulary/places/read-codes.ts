import type { PlaceReading } from './place-model.ts'
import { isRegionOnly, isWithin, placeOf, regionOf, UNKNOWN_PLACE } from './place-reading.ts'
import type { PlaceTable } from './place-table.ts'
import { keyOfWords, nameKey, placeWords } from './place-words.ts'
import { codesOf, scanPlace } from './scan-place.ts'

const TWO_LETTERS = /^[A-Z]{2}$/
/** Of a subdivision or a city, or a number: `MTL`, `FRA1`, `03`, `2a`. */
const FURTHER_CODE = /^(?:\p{L}{1,3}\p{N}{0,3}|\p{N}{1,4}\p{L}?)$/u
const NUMBER = /^\p{N}{1,4}$/u
const ALPHA3_WITH_NUMBER = /^([A-Z]{3})[\s\p{Pd}_./]+\p{N}{1,4}$/u

/** Codes behind a comma at the end: `Frankfurt, DE`, `Michigan, US, NA`, `Lebanon, OH`. */
export function readCodeAtEnd(table: PlaceTable, plain: string): PlaceReading | null {
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
export function readCodes(table: PlaceTable, plain: string): PlaceReading | null {
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
