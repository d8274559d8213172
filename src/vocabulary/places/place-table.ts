import type { Violation } from '../../errors.ts'
import { CONTINENTS, type Continent, type Country, LIBRARY_COUNTRIES } from './country-library.ts'
import type {
  CountryRow,
  Meaning,
  PlaceReading,
  PlaceRow,
  PlaceRows,
  Region,
  RegionRow,
  StateRow,
} from './place-model.ts'
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
  sources: ReadonlyMap<string, ReadonlyMap<string, PlaceReading>>
}

type Mutable = {
  -readonly [Member in Exclude<keyof PlaceTable, 'sources'>]: PlaceTable[Member] extends ReadonlyMap<
    string,
    infer Value
  >
    ? Map<string, Value>
    : PlaceTable[Member]
} & { sources: Map<string, Map<string, PlaceReading>> }

type Complain = (path: string, message: string) => void
/** Of the nth text of a list. */
type InList = (n: number, message: string) => void

const MAX_WORDS = 8
const FIRST_LETTER = /^\p{L}/u
const LETTER_EXPECTED = 'expected a name that begins with a letter'

/** The countries of the library, with their codes and common names. */
export function libraryTable(): PlaceTable {
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
  for (const { code, names } of LIBRARY_COUNTRIES)
    for (const name of names) addName(table, name, { kind: 'country', country: code, isPart: false })
  return table
}

/**
 * The table with further rows. A row of a country or state that `base` has adds names and cities, and replaces continents.
 * Each problem is added to `problems`, under the path of its row.
 */
export function extendPlaceTable(base: PlaceTable, rows: PlaceRows, problems: Violation[]): PlaceTable {
  const complain: Complain = (path, message) => void problems.push({ path, message })
  const table = copyOf(base)
  for (const row of rows.states) addState(table, row, complain)
  for (const row of rows.countries) addCountry(table, row, complain)
  for (const row of rows.regions) addRegion(table, row, complain)
  for (const { path, words } of rows.compass)
    addNames(table, words, { kind: 'compass' }, inList(`${path}.words`, complain))
  table.compass = [...table.names.keys()].filter((key) => table.names.get(key)!.kind === 'compass')
  for (const { path, names } of rows.other_names)
    addNames(table, names, { kind: 'nothing' }, inList(`${path}.names`, complain))
  for (const { codes } of rows.ambiguous) for (const code of codes) table.ambiguous.set(code, code)
  for (const row of rows.places) addPlace(table, row, complain)
  return table
}

/** The continent that counts for a country. `null`: no such code. */
export const continentOfCountry = ({ countries }: PlaceTable, country: string): string | null =>
  countries.get(country)?.continents[0] ?? null

/** In English. A code of no country is its own name. */
export const countryName = ({ countries }: PlaceTable, code: string): string =>
  countries.get(code)?.names[0] ?? code

const copyOf = (base: PlaceTable): Mutable => ({
  countries: new Map(base.countries),
  codes: new Map(base.codes),
  alpha3: new Map(base.alpha3),
  names: new Map(base.names),
  starts: new Map(base.starts),
  compass: base.compass,
  regions: new Map(base.regions),
  states: new Map(base.states),
  cities: new Map(base.cities),
  provinces: new Map(base.provinces),
  ambiguous: new Map(base.ambiguous),
  sources: new Map([...base.sources].map(([source, texts]) => [source, new Map(texts)])),
})

function addState(table: Mutable, { path, state, name, cities = [] }: StateRow, complain: Complain): void {
  const known = table.states.get(state) ?? name
  const problem =
    nameKey(known) === nameKey(name)
      ? addName(table, name, { kind: 'state', state })
      : `${state} is ${known}; correct the code or the name`
  if (problem !== null) complain(`${path}.name`, problem)
  else table.states.set(state, known)
  addCities(table, cities, `US-${state}`, inList(`${path}.cities`, complain))
}

function addCountry(table: Mutable, row: CountryRow, complain: Complain): void {
  const { path, country, names = [], parts = [], cities = [], provinces = [], continents } = row
  const known = table.countries.get(country)
  if (known === undefined) {
    complain(`${path}.country`, noCountry(table, country))
    return
  }
  addNames(table, names, { kind: 'country', country, isPart: false }, inList(`${path}.names`, complain))
  addNames(table, parts, { kind: 'country', country, isPart: true }, inList(`${path}.parts`, complain))
  addCodes(table, names, country, inList(`${path}.names`, complain))
  addCities(table, cities, country, inList(`${path}.cities`, complain))
  for (const code of provinces) addHome(table.provinces, code, country)
  const all = [...new Set([...known.names, ...names])]
  table.countries.set(country, { ...known, names: all, continents: continents ?? known.continents })
}

function addRegion(table: Mutable, row: RegionRow, complain: Complain): void {
  const { path, codes = [], words = [], continent, within } = row
  const continents = continent === undefined ? within : [continent]
  if (continents === undefined || (continent !== undefined && within !== undefined)) {
    complain(path, 'expected continent or within, and not both')
    return
  }
  const region: Region = { kind: 'region', isContinent: continent !== undefined, continents }
  for (const [n, code] of codes.entries()) {
    const known = table.regions.get(code) ?? region
    if (isSame(known, region)) table.regions.set(code, known)
    else complain(`${path}.codes[${n}]`, `${code} means ${describe(known, table)}, too; remove one of them`)
  }
  addNames(table, words, region, inList(`${path}.words`, complain))
}

function addPlace(table: Mutable, row: PlaceRow, complain: Complain): void {
  const { path, source, region, country, continent } = row
  const known = country === undefined ? undefined : table.countries.get(country)
  const reading = { country: country ?? null, continent: continent ?? known?.continents[0] ?? null }
  const texts = table.sources.get(source) ?? new Map<string, PlaceReading>()
  if (country === undefined && continent === undefined)
    complain(path, 'names no place; add country or continent')
  else if (country !== undefined && known === undefined)
    complain(`${path}.country`, noCountry(table, country))
  else if (known && continent && !known.continents.includes(continent))
    complain(`${path}.continent`, `${known.names[0]} is in ${listed(known.continents)}; remove the line`)
  else if (!isSame(texts.get(region) ?? reading, reading))
    complain(path, `'${region}' of source ${source} has two rows that differ; remove one`)
  else table.sources.set(source, texts.set(region, reading))
}

/** Short forms such as `UK` count as codes. */
function addCodes({ codes }: Mutable, names: readonly string[], country: string, complain: InList): void {
  for (const [n, name] of names.entries()) {
    const owner = codes.get(name) ?? country
    if (owner !== country) complain(n, `${name} is the code of another country; remove it`)
    else if (/^[A-Z]{2}$/.test(name)) codes.set(name, country)
  }
}

function addCities({ cities }: Mutable, names: readonly string[], home: string, complain: InList): void {
  for (const [n, name] of names.entries()) {
    const key = nameKey(name)
    if (FIRST_LETTER.test(key)) addHome(cities, key, home)
    else complain(n, LETTER_EXPECTED)
  }
}

function addHome(homes: Map<string, readonly string[]>, key: string, home: string): void {
  homes.set(key, [...new Set([...(homes.get(key) ?? []), home])])
}

function addNames(table: Mutable, names: readonly string[], meaning: Meaning, complain: InList): void {
  for (const [n, name] of names.entries()) {
    const problem = addName(table, name, meaning)
    if (problem !== null) complain(n, problem)
  }
}

/** Gives a problem, if there is one. */
function addName(table: Mutable, name: string, meaning: Meaning): string | null {
  const words = nameKey(name).split(' ')
  if (!FIRST_LETTER.test(words[0]!)) return LETTER_EXPECTED
  if (words.length > MAX_WORDS) return `expected at most ${MAX_WORDS} words`
  for (const key of keysOf(words)) {
    const known = table.names.get(key)
    const joined = known === undefined ? meaning : joinMeanings(known, meaning)
    if (joined === null) return `'${name}' means ${describe(known!, table)}, too; remove one of them`
    table.names.set(key, joined)
    const [start = '', ...more] = key.split(' ')
    table.starts.set(start, Math.max(table.starts.get(start) ?? 0, more.length + 1))
  }
  return null
}

/** `new zealand` and `newzealand`; initials such as `u s` only with a space. */
const keysOf = (words: readonly string[]): string[] =>
  words.length > 1 && words.every(({ length }) => length > 1)
    ? [words.join(' '), words.join('')]
    : [words.join(' ')]

/** `null` for two that differ, but a state with a country's name. */
function joinMeanings(known: Meaning, added: Meaning): Meaning | null {
  if (known.kind === 'country' && added.kind === 'state')
    return { kind: 'either', country: known.country, state: added.state }
  const isSameCountry = 'country' in known && 'country' in added && known.country === added.country
  const isSameState = 'state' in known && 'state' in added && known.state === added.state
  return isSameCountry || isSameState || isSame(known, added) ? known : null
}

function describe(meaning: Meaning, { countries, states }: Mutable): string {
  switch (meaning.kind) {
    case 'country':
    case 'either':
      return `${countries.get(meaning.country)!.names[0]} (${meaning.country})`
    case 'state':
      return `${states.get(meaning.state)} (US)`
    case 'region':
      return `${meaning.isContinent ? '' : 'a region of '}${listed(meaning.continents)}`
    case 'compass':
      return 'a point of the compass'
    case 'nothing':
      return 'no country'
  }
}

const listed = (continents: readonly Continent[]): string =>
  continents.map((continent) => `${CONTINENTS[continent]} (${continent})`).join(' and ')

const noCountry = ({ codes }: Mutable, code: string): string =>
  `no country has the code ${code}; ${codes.has(code) ? `write ${codes.get(code)}` : 'correct it'}`

const inList =
  (path: string, complain: Complain): InList =>
  (n, message) =>
    complain(`${path}[${n}]`, message)

/** Of plain data with members in one order. */
const isSame = (a: object, b: object): boolean => JSON.stringify(a) === JSON.stringify(b)
