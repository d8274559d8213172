import type { Violation } from '../../errors.ts'
import type { PlaceRows } from '../rows.ts'
import type { SourceRows } from '../source-rows.ts'
import { type Country, LIBRARY_COUNTRIES } from './country-library.ts'
import type { Meaning, PlaceReading, Region } from './place-model.ts'
import { nameKey } from './place-words.ts'

/** What the regions that sellers write mean: plain data. */
export type PlaceTable = {
  /** By alpha-2 code. */
  countries: ReadonlyMap<string, Country>
  /** Alpha-2 by alpha-2, and by short forms of two letters such as `UK`. */
  codes: ReadonlyMap<string, string>
  /** Alpha-2 by alpha-3. */
  alpha3: ReadonlyMap<string, string>
  /** By `nameKey()`; names of several words without spaces, too. */
  names: ReadonlyMap<string, Meaning>
  /** Words of the longest name that begins with a word. */
  starts: ReadonlyMap<string, number>
  /** Points of the compass. */
  compass: readonly string[]
  /** By code. */
  regions: ReadonlyMap<string, Region>
  /** Names of US states by code. */
  states: ReadonlyMap<string, string>
  /** Countries and states, such as `CA` and `US-CA`, by `nameKey()` of a city there. */
  cities: ReadonlyMap<string, readonly string[]>
  /** Countries with provinces of a country's code, by the code. */
  provinces: ReadonlyMap<string, readonly string[]>
  /** Codes that mean something else as often, each by itself. */
  ambiguous: ReadonlyMap<string, string>
  /** By source and exact text. */
  sources: SourceRows<PlaceReading>
}

type Mutable = {
  -readonly [Member in Exclude<keyof PlaceTable, 'sources'>]: PlaceTable[Member] extends ReadonlyMap<
    string,
    infer Value
  >
    ? Map<string, Value>
    : PlaceTable[Member]
} & { sources: Map<string, Map<string, PlaceReading>> }

type RowOf<Kind extends keyof PlaceRows> = PlaceRows[Kind][number]
type Place = RowOf<'places'>['place']

/**
 * The countries of the library with their codes and common names, then the rows of each file. A row of a country or state that is known
 * adds names and cities, and replaces continents. Of two rows with one name or code the later one counts. A country that the
 * library does not have is a problem.
 */
export function buildPlaceTable(files: readonly PlaceRows[], problems: Violation[]): PlaceTable {
  const table: Mutable = {
    countries: new Map(LIBRARY_COUNTRIES.map((country) => [country.code, country])),
    codes: new Map(LIBRARY_COUNTRIES.map(({ code }) => [code, code])),
    alpha3: new Map(LIBRARY_COUNTRIES.map(({ alpha3, code }) => [alpha3, code])),
    names: new Map(),
    starts: new Map(),
    compass: [],
    regions: new Map(),
    states: new Map(),
    cities: new Map(),
    provinces: new Map(),
    ambiguous: new Map(),
    sources: new Map(),
  }
  const isKnown = (country: string, place: Place): boolean => {
    if (table.countries.has(country)) return true
    problems.push({ path: place('country'), message: noCountry(table, country) })
    return false
  }
  for (const { code, names } of LIBRARY_COUNTRIES)
    addNames(table, names, { kind: 'country', country: code, isPart: false })
  for (const rows of files) {
    for (const { state, name, cities } of rows.states) {
      addNames(table, [name], { kind: 'state', state })
      table.states.set(state, name)
      addCities(table, cities, `US-${state}`)
    }
    for (const row of rows.countries) if (isKnown(row.country, row.place)) addCountry(table, row)
    for (const row of rows.regions) addRegion(table, row)
    for (const { words } of rows.compass) addNames(table, words, { kind: 'compass' })
    for (const { names } of rows.other_names) addNames(table, names, { kind: 'nothing' })
    for (const { codes } of rows.ambiguous) for (const code of codes) table.ambiguous.set(code, code)
    for (const row of rows.places)
      if (row.country === undefined || isKnown(row.country, row.place)) addPlace(table, row)
  }
  table.compass = [...table.names.keys()].filter((key) => table.names.get(key)!.kind === 'compass')
  return table
}

/** The continent that counts for a country. `null`: no such code. */
export const continentOfCountry = ({ countries }: PlaceTable, country: string): string | null =>
  countries.get(country)?.continents[0] ?? null

/** In English. A code of no country is its own name. */
export const countryName = ({ countries }: PlaceTable, code: string): string =>
  countries.get(code)?.names[0] ?? code

function addCountry(
  table: Mutable,
  { country, names = [], parts, cities, provinces = [], continents }: RowOf<'countries'>,
): void {
  const known = table.countries.get(country)!
  addNames(table, parts, { kind: 'country', country, isPart: true })
  addNames(table, names, { kind: 'country', country, isPart: false })
  // Short forms such as `UK` count as codes.
  for (const name of names) if (/^[A-Z]{2}$/.test(name)) table.codes.set(name, country)
  addCities(table, cities, country)
  for (const code of provinces) addHome(table.provinces, code, country)
  const all = [...new Set([...known.names, ...names])]
  table.countries.set(country, { ...known, names: all, continents: continents ?? known.continents })
}

function addRegion(table: Mutable, { codes = [], words, continent, within = [] }: RowOf<'regions'>): void {
  const isContinent = continent !== undefined
  const region: Region = { kind: 'region', isContinent, continents: isContinent ? [continent] : within }
  for (const code of codes) table.regions.set(code, region)
  addNames(table, words, region)
}

function addPlace(
  { countries, sources }: Mutable,
  { source, region, country, continent = countries.get(country ?? '')?.continents[0] }: RowOf<'places'>,
): void {
  const texts = sources.get(source) ?? new Map<string, PlaceReading>()
  sources.set(source, texts.set(region, { country: country ?? null, continent: continent ?? null }))
}

function addCities({ cities }: Mutable, names: readonly string[] = [], home: string): void {
  for (const name of names) addHome(cities, nameKey(name), home)
}

function addHome(homes: Map<string, readonly string[]>, key: string, home: string): void {
  homes.set(key, [...new Set([...(homes.get(key) ?? []), home])])
}

function addNames({ names, starts }: Mutable, texts: readonly string[] = [], meaning: Meaning): void {
  for (const key of texts.flatMap(keysOf)) {
    const known = names.get(key)
    const isBoth = known?.kind === 'country' && meaning.kind === 'state'
    names.set(key, isBoth ? { kind: 'either', country: known.country, state: meaning.state } : meaning)
    const [start = '', ...more] = key.split(' ')
    starts.set(start, Math.max(starts.get(start) ?? 0, more.length + 1))
  }
}

/** `new zealand` and `newzealand`; initials such as `u s` only with a space. */
function keysOf(name: string): string[] {
  const key = nameKey(name)
  const words = key.split(' ')
  return words.length > 1 && words.every(({ length }) => length > 1) ? [key, words.join('')] : [key]
}

const noCountry = ({ codes }: Mutable, code: string): string =>
  `no country has the code ${code}; ${codes.has(code) ? `write ${codes.get(code)}` : 'correct it'}`
