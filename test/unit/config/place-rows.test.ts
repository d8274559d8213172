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

const UNKNOWN = { country: null, continent: null }

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

test('place rows: what a source means by a text wins over the rules, for what is behind it as well', (t) => {
  const { table, problems } = read(`
[[places]]
source = "eu"
region = "MON1"
country = "CA"

[[places]]
source = "eu/curated"
region = "MON1"
country = "MC"

[[places]]
source = "eu"
region = "Paris, FR"
country = "US"

[[places]]
source = "eu"
region = "north"
continent = "EU"

[[places]]
source = "eu"
region = "Vladivostok"
country = "RU"
continent = "AS"

[[places]]
source = "eu"
region = "MON1"
country = "CA"
`)
  t.deepEqual(problems, [])
  const CASES: [source: string, text: string, country: string | null, continent: string | null][] = [
    ['eu', 'MON1', 'CA', 'NA'],
    ['eu/other', 'MON1', 'CA', 'NA'],
    ['eu/curated', 'MON1', 'MC', 'EU'],
    ['eu/curated/deep', 'MON1', 'MC', 'EU'],
    ['eu/curated', 'Paris, FR', 'US', 'NA'],
    ['eu', 'north', null, 'EU'],
    ['eu', 'Vladivostok', 'RU', 'AS'],
    ['eu', 'mon1', null, null],
    ['eu', 'MON1 ', null, null],
    ['eu2', 'MON1', null, null],
    ['europe/eu', 'MON1', null, null],
    ['e', 'MON1', null, null],
    ['', 'MON1', null, null],
    ['us', 'Paris, FR', 'FR', 'EU'],
  ]
  for (const [source, text, country, continent] of CASES)
    t.deepEqual(readPlace(table, source, text), { country, continent }, `${source}: ${text}`)
})

test('place rows: without a row of the operator the names that a seller made up are unknown', (t) => {
  const table = readPlaceTable(null, [])
  for (const text of ['MON1', 'ICE-01', 'FRA', 'FRA2', 'a3111bd4-550a-47d0-838a-0a52bff2ae3f'])
    t.deepEqual(readPlace(table, 'e', text), UNKNOWN, text)
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

const BAD: Readonly<Record<string, [toml: string, problem: string]>> = {
  'a code that no country has': [
    '[[places]]\nsource = "e"\nregion = "X1"\ncountry = "XX"',
    'FILE:4: places[0].country: no country has the code XX; correct it',
  ],
  'a short form for a code': [
    '[[places]]\nsource = "e"\nregion = "X1"\ncountry = "UK"',
    'FILE:4: places[0].country: no country has the code UK; write GB',
  ],
  'a name for a code': [
    '[[places]]\nsource = "e"\nregion = "X1"\ncountry = "Canada"',
    'FILE:4: places[0].country: expected a code of two letters A-Z such as DE',
  ],
  'an unknown continent': [
    '[[places]]\nsource = "e"\nregion = "X1"\ncontinent = "Europe"',
    'FILE:4: places[0].continent: expected one of AF, AN, AS, EU, NA, OC and SA',
  ],
  'a country outside the continent': [
    '[[places]]\nsource = "e"\nregion = "X1"\ncountry = "CA"\ncontinent = "EU"',
    'FILE:5: places[0].continent: Canada is in North America (NA); remove the line',
  ],
  'no place': [
    '[[places]]\nsource = "e"\nregion = "X1"',
    'FILE:1: places[0]: names no place; add country or continent',
  ],
  'no source': [
    '[[places]]\nregion = "X1"\ncountry = "CA"',
    'FILE:1: places[0].source: expected a text of 1 to 200 characters',
  ],
  'a text that is too long': [
    `[[places]]\nsource = "e"\nregion = "${'x'.repeat(201)}"\ncountry = "CA"`,
    'FILE:3: places[0].region: expected a text of 1 to 200 characters',
  ],
  'two rows for a text that differ': [
    '[[places]]\nsource = "e"\nregion = "X1"\ncountry = "CA"\n[[places]]\nsource = "e"\nregion = "X1"\ncountry = "MC"',
    "FILE:5: places[1]: 'X1' of source e has two rows that differ; remove one",
  ],
  'an unknown member': [
    '[[places]]\nsource = "e"\nregion = "X1"\ncontry = "CA"',
    'FILE:4: places[0].contry: unknown setting; did you mean country?',
  ],
  'an unknown list': ['[[place]]\nsource = "e"', 'FILE:1: place: unknown setting; did you mean places?'],
  'a country of no code': [
    '[[countries]]\ncountry = "QQ"\nnames = ["Nowhere"]',
    'FILE:2: countries[0].country: no country has the code QQ; correct it',
  ],
  'a name of two countries': [
    '[[countries]]\ncountry = "FR"\nnames = ["Frankreich",\n"Holland"]',
    "FILE:3: countries[0].names[1]: 'Holland' means Netherlands (NL), too; remove one of them",
  ],
  'a name of a region': [
    '[[countries]]\ncountry = "FR"\nparts = ["Middle East"]',
    "FILE:3: countries[0].parts[0]: 'Middle East' means a region of Asia (AS), too; remove one of them",
  ],
  'a name of a state': [
    '[[other_names]]\nnames = ["texas"]',
    "FILE:2: other_names[0].names[0]: 'texas' means Texas (US), too; remove one of them",
  ],
  'a name that is a point of the compass': [
    '[[countries]]\ncountry = "KR"\nnames = ["South"]',
    "FILE:3: countries[0].names[0]: 'South' means a point of the compass, too; remove one of them",
  ],
  'a name without letters': [
    '[[countries]]\ncountry = "KR"\nnames = ["-1-"]',
    'FILE:3: countries[0].names[0]: expected a name that begins with a letter',
  ],
  'a name of many words': [
    '[[countries]]\ncountry = "KR"\nnames = ["a b c d e f g h i"]',
    'FILE:3: countries[0].names[0]: expected at most 8 words',
  ],
  'a state as a name of a country': [
    '[[countries]]\ncountry = "MX"\nnames = ["Texas"]',
    "FILE:3: countries[0].names[0]: 'Texas' means Texas (US), too; remove one of them",
  ],
  'a code as a name of another country': [
    '[[countries]]\ncountry = "FR"\nnames = ["DE"]',
    'FILE:3: countries[0].names[0]: DE is the code of another country; remove it',
  ],
  'a city without letters': [
    '[[countries]]\ncountry = "CA"\ncities = ["--"]',
    'FILE:3: countries[0].cities[0]: expected a name that begins with a letter',
  ],
  'another name for a state': [
    '[[states]]\nstate = "TX"\nname = "Tejas"',
    'FILE:3: states[0].name: TX is Texas; correct the code or the name',
  ],
  'a region with two meanings': [
    '[[regions]]\ncodes = ["XEU"]\ncontinent = "EU"\nwithin = ["EU"]',
    'FILE:1: regions[0]: expected continent or within, and not both',
  ],
  'a code of two regions': [
    '[[regions]]\ncodes = ["SEA"]\ncontinent = "EU"',
    'FILE:2: regions[0].codes[0]: SEA means a region of Asia (AS), too; remove one of them',
  ],
}

for (const [what, [toml, problem]] of Object.entries(BAD))
  test(`place rows: ${what} is a problem with file and line`, (t) => {
    const { table, problems } = read(toml)
    t.deepEqual(problems, [problem])
    t.deepEqual(readPlace(table, 'a', 'Tokyo, JP'), { country: 'JP', continent: 'AS' })
  })

test('place rows: a file that is missing, no TOML or too long is a problem', (t) => {
  const problems: Violation[] = []
  readPlaceTable(join(folder, 'missing.toml'), problems)
  t.deepEqual(problems, [{ path: join(folder, 'missing.toml'), message: 'cannot be read: no such file' }])
  t.regex(read('[[places').problems[0]!, /^FILE: not TOML: /)
  t.deepEqual(read('places = 1').problems, ['FILE:1: places: expected tables that begin with [[places]]'])
  const row = '[[places]]\nsource = "e"\nregion = "X1"\ncountry = "CA"\n'
  t.deepEqual(read(row.repeat(10_001)).problems, ['FILE:1: places: at most 10000 rows; remove some'])
})
