import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { readPlaceTable } from '../../../src/config/place-rows.ts'
import type { Violation } from '../../../src/errors.ts'
import type { PlaceTable } from '../../../src/vocabulary/places/place-table.ts'
import { readPlace } from '../../../src/vocabulary/places/read-place.ts'
import { readCountryValue } from '../../../src/vocabulary/places/read-place-value.ts'

const folder = mkdtempSync(join(tmpdir(), 'entrepot-places-'))
test.after.always(() => rmSync(folder, { recursive: true }))

function read(toml: string): { table: PlaceTable; problems: string[] } {
  const file = join(mkdtempSync(join(folder, 'case-')), 'my-places.toml')
  writeFileSync(file, toml)
  const problems: Violation[] = []
  const table = readPlaceTable(file, problems)
  return { table, problems: problems.map(({ path, message }) => `${path.replace(file, 'FILE')}: ${message}`) }
}

test('place rows: the shipped file is good, and has cities of each US state whose code a country has', (t) => {
  const problems: Violation[] = []
  const { states, codes, cities } = readPlaceTable(null, problems)
  t.deepEqual(problems, [])
  t.is(states.size, 51)
  const shared = [...states.keys()].filter((state) => codes.has(state))
  t.is(shared.length, 26)
  const homes = new Set([...cities.values()].flat())
  t.deepEqual(
    shared.filter((code) => !homes.has(`US-${code}`)),
    [],
  )
})

/** Rows of what a source means, as `source: region: members`. */
const meanings = (...rows: string[]): string =>
  rows
    .map((row) => row.split(': '))
    .map(
      ([source, region, members]) => `[[places]]\nsource = "${source}"\nregion = "${region}"\n${members}\n`,
    )
    .join('')

test('place rows: what a source means by a text wins over the rules, for what is behind it as well', (t) => {
  const { table, problems } = read(
    meanings(
      'eu: MON1: country = "CA"',
      'eu/curated: MON1: country = "MC"',
      'eu: Paris, FR: country = "US"',
      'eu: north: continent = "EU"',
      'eu: Vladivostok: country = "RU"\ncontinent = "AS"',
      'eu: MON1: country = "CA"',
    ),
  )
  t.deepEqual(problems, [])
  const CASES: [source: string, text: string, country: string | null, continent: string | null][] = [
    ['eu', 'MON1', 'CA', 'NA'],
    ['eu/other', 'MON1', 'CA', 'NA'],
    ['eu/curated/deep', 'MON1', 'MC', 'EU'],
    ['eu/curated', 'Paris, FR', 'US', 'NA'],
    ['eu', 'north', null, 'EU'],
    ['eu', 'Vladivostok', 'RU', 'AS'],
    ['eu', 'mon1', null, null],
    ['eu', 'MON1 ', null, null],
    ['eu2', 'MON1', null, null],
    ['e', 'MON1', null, null],
    ['', 'MON1', null, null],
    ['us', 'Paris, FR', 'FR', 'EU'],
  ]
  for (const [source, text, country, continent] of CASES)
    t.deepEqual(readPlace(table, source, text), { country, continent }, `${source}: ${text}`)
})

test('place rows: rows of an operator add names and cities, and replace continents', (t) => {
  const { table, problems } = read(`
[[countries]]
country = "FI"
names = ["Finlande"]
parts = ["Uusimaa"]

[[countries]]
country = "TR"
continents = ["EU", "AS"]

[[states]]
state = "CA"
name = "California"
cities = ["Ontario"]

[[regions]]
codes = ["DACH"]
words = ["Dreiländereck"]
within = ["EU"]

[[other_names]]
names = ["Paris, Texas"]

[[ambiguous]]
codes = ["FIN"]
`)
  t.deepEqual(problems, [])
  const country = (text: string) => readPlace(table, 'a', text).country
  t.is(country('finlande-1'), 'FI')
  t.is(country('Uusimaa'), 'FI')
  t.is(country('Ontario, CA'), 'US')
  t.is(country('FIN-01'), null)
  t.is(country('Paris, Texas'), null)
  t.is(country('DACH-CH-1'), 'CH')
  t.deepEqual(readPlace(table, 'a', 'dreilandereck'), { country: null, continent: 'EU' })
  t.deepEqual(readPlace(table, 'a', 'DACH'), { country: null, continent: 'EU' })
  t.deepEqual(readPlace(table, 'a', 'Istanbul, TR'), { country: 'TR', continent: 'EU' })
  t.deepEqual(readCountryValue(table, 'Uusimaa'), { near: ['Finland (FI)'] })
})

const place = (more: string): string => `[[places]]\nsource = "e"\nregion = "X1"\n${more}`
const country = (code: string, more: string): string => `[[countries]]\ncountry = "${code}"\n${more}`

/** What is wrong with a file, with its line. */
const BAD: Readonly<Record<string, string>> = {
  [place('country = "XX"')]: '4: places[0].country: no country has the code XX; correct it',
  [place('country = "UK"')]: '4: places[0].country: no country has the code UK; write GB',
  [place('country = "Canada"')]: '4: places[0].country: expected a code of two letters A-Z such as DE',
  [place('continent = "Europe"')]: '4: places[0].continent: expected one of AF, AN, AS, EU, NA, OC and SA',
  [place('country = "CA"\ncontinent = "EU"')]:
    '5: places[0].continent: Canada is in North America (NA); remove the line',
  [place('')]: '1: places[0]: names no place; add country or continent',
  [place('contry = "CA"')]: '4: places[0].contry: unknown setting; did you mean country?',
  [`${place('country = "CA"')}\n${place('country = "MC"')}`]:
    "5: places[1]: 'X1' of source e has two rows that differ; remove one",
  '[[places]]\nregion = "X1"\ncountry = "CA"': '1: places[0].source: expected a text of 1 to 200 characters',
  [`[[places]]\nsource = "e"\nregion = "${'x'.repeat(201)}"\ncountry = "CA"`]:
    '3: places[0].region: expected a text of 1 to 200 characters',
  '[[place]]\nsource = "e"': '1: place: unknown setting; did you mean places?',
  'places = 1': '1: places: expected tables that begin with [[places]]',
  [`${place('country = "CA"')}\n`.repeat(10_001)]: '1: places: at most 10000 rows; remove some',
  [country('QQ', 'names = ["Nowhere"]')]: '2: countries[0].country: no country has the code QQ; correct it',
  [country('FR', 'names = ["Frankreich",\n"Holland"]')]:
    "3: countries[0].names[1]: 'Holland' means Netherlands (NL), too; remove one of them",
  [country('FR', 'parts = ["Middle East"]')]:
    "3: countries[0].parts[0]: 'Middle East' means a region of Asia (AS), too; remove one of them",
  [country('KR', 'names = ["South"]')]:
    "3: countries[0].names[0]: 'South' means a point of the compass, too; remove one of them",
  [country('KR', 'names = ["-1-"]')]: '3: countries[0].names[0]: expected a name that begins with a letter',
  [country('KR', 'names = ["a b c d e f g h i"]')]: '3: countries[0].names[0]: expected at most 8 words',
  [country('MX', 'names = ["Texas"]')]:
    "3: countries[0].names[0]: 'Texas' means Texas (US), too; remove one of them",
  [country('FR', 'names = ["DE"]')]: '3: countries[0].names[0]: DE is the code of another country; remove it',
  [country('CA', 'cities = ["--"]')]: '3: countries[0].cities[0]: expected a name that begins with a letter',
  '[[other_names]]\nnames = ["texas"]':
    "2: other_names[0].names[0]: 'texas' means Texas (US), too; remove one of them",
  '[[states]]\nstate = "TX"\nname = "Tejas"': '3: states[0].name: TX is Texas; correct the code or the name',
  '[[regions]]\ncodes = ["XEU"]\ncontinent = "EU"\nwithin = ["EU"]':
    '1: regions[0]: expected continent or within, and not both',
  '[[regions]]\ncodes = ["SEA"]\ncontinent = "EU"':
    '2: regions[0].codes[0]: SEA means a region of Asia (AS), too; remove one of them',
}

test('place rows: what is wrong is a problem with file and line, and the other rows count', (t) => {
  for (const [toml, problem] of Object.entries(BAD)) {
    const { table, problems } = read(toml)
    t.deepEqual(problems, [`FILE:${problem}`])
    t.deepEqual(readPlace(table, 'a', 'Tokyo, JP'), { country: 'JP', continent: 'AS' })
  }
})

test('place rows: a file that is missing or no TOML is a problem', (t) => {
  const problems: Violation[] = []
  readPlaceTable(join(folder, 'missing.toml'), problems)
  t.deepEqual(problems, [{ path: join(folder, 'missing.toml'), message: 'cannot be read: no such file' }])
  t.regex(read('[[places').problems[0]!, /^FILE: not TOML: /)
})
