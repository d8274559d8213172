import { isOneEdit, nearestName } from '../../domain/nearest-name.ts'
import type { ValueReading } from '../meaning.ts'
import { CONTINENTS } from './country-library.ts'
import { countryName, type PlaceTable } from './place-table.ts'
import { nameKey } from './place-words.ts'

const MAX_NEAR = 5

/** What a reader asks as `country`: `DE`, `deu`, `Germany`, `UK`; near are names, each with its code. A part of a country is near it, so that no answer is wider. */
export function readCountryValue(table: PlaceTable, text: string): ValueReading {
  const upper = text.trim().toUpperCase()
  const code = table.codes.get(upper) ?? table.alpha3.get(upper)
  if (code !== undefined) return { value: code }
  const meaning = table.names.get(nameKey(text))
  if (meaning?.kind === 'either') return { value: meaning.country }
  if (meaning?.kind === 'state') return { near: [withCode(table, 'US')] }
  if (meaning?.kind !== 'country') return { near: nearest(text, [...table.countries.values()]) }
  return meaning.isPart ? { near: [withCode(table, meaning.country)] } : { value: meaning.country }
}

const withCode = (table: PlaceTable, code: string): string => `${countryName(table, code)} (${code})`

/** What a reader asks as `continent`: `EU`, `europe`, `North America`. A region within a continent is near it. */
export function readContinentValue(table: PlaceTable, text: string): ValueReading {
  const upper = text.trim().toUpperCase()
  const key = nameKey(text)
  const named = CONTINENT_NAMES.find(({ code, names }) => code === upper || nameKey(names[0]!) === key)
  if (named !== undefined) return { value: named.code }
  const meaning = table.names.get(key)
  const region = meaning?.kind === 'region' ? meaning : table.regions.get(upper)
  if (region === undefined) return { near: nearest(text, CONTINENT_NAMES) }
  if (region.isContinent) return { value: region.continents[0]! }
  return { near: region.continents.map((code) => `${continentName(code)} (${code})`) }
}

/**
 * What a seller may write in place of a text that names no country: `Frankfurt, DE` for the city alone, and for a name with one
 * wrong letter, which `isMisspelt`. `null` for a text that is near to no name.
 */
export function nearPlace(
  { names, cities }: PlaceTable,
  text: string,
): { place: string; isMisspelt: boolean } | null {
  const keys = [text, ...text.split(',')].map(nameKey).filter(({ length }) => length >= MIN_MISSPELT)
  const known = [...names.keys(), ...cities.keys()]
  const city = keys.find((key) => cities.has(key))
  const name = city ?? known.find((one) => keys.some((key) => isOneEdit(key, one)))
  if (name === undefined) return null
  const homes = cities.get(name) ?? []
  const title = name.replace(/(?<!\p{L})\p{L}/gu, (letter) => letter.toUpperCase())
  const place = homes.length === 1 ? `${title}, ${homes[0]!.replace('US-', '')}` : title
  return { place, isMisspelt: city === undefined }
}

/** Characters: shorter names are too often one letter from another place. */
const MIN_MISSPELT = 5

/** In English. A code of no continent is its own name. */
export const continentName = (code: string): string =>
  CONTINENT_NAMES.find((one) => one.code === code)?.names[0] ?? code

type Named = { code: string; names: readonly string[] }

const CONTINENT_NAMES: readonly Named[] = Object.entries(CONTINENTS).map(([code, name]) => ({
  code,
  names: [name],
}))

/** Those with all words of the text in one name, or else the one with the nearest name. */
function nearest(text: string, all: readonly Named[]): string[] {
  const key = nameKey(text)
  if (key === '') return []
  const words = key.split(' ')
  const holders = all.filter(({ names }) =>
    names.some((name) => words.every((word) => nameKey(name).split(' ').includes(word))),
  )
  const name = nearestName(
    text,
    all.flatMap(({ names }) => names),
  )
  const near = holders.length > 0 ? holders : all.filter(({ names }) => name !== null && names.includes(name))
  return near.slice(0, MAX_NEAR).map(({ code, names }) => `${names[0]} (${code})`)
}
