import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { readVocabulary, shippedVocabulary } from '../../../src/config/vocabulary.ts'
import type { Violation } from '../../../src/errors.ts'
import { readGpu } from '../../../src/vocabulary/gpus/read-gpu.ts'
import type { Tables } from '../../../src/vocabulary/meaning.ts'
import { readPlace } from '../../../src/vocabulary/places/read-place.ts'
import { readCountryValue } from '../../../src/vocabulary/places/read-place-value.ts'

const folder = mkdtempSync(join(tmpdir(), 'entrepot-rows-'))
test.after.always(() => rmSync(folder, { recursive: true }))

/** With a file of rows of an operator. */
function read(kind: 'gpus' | 'places', toml: string): Tables & { problems: string[] } {
  const file = join(mkdtempSync(join(folder, 'case-')), 'rows.toml')
  writeFileSync(file, toml)
  const problems: Violation[] = []
  const { tables } = readVocabulary({ gpus: null, places: null, [kind]: file }, problems)
  return {
    ...tables,
    problems: problems.map(({ path, message }) => `${path.replace(file, 'FILE')}: ${message}`),
  }
}

const { gpus, places } = shippedVocabulary().tables

test('rows: each shipped model has a vendor and memory, each shipped US state whose code a country has has cities', (t) => {
  for (const { model, vendor, memoryGb } of gpus.models) t.truthy(vendor && memoryGb.length, model)
  t.is(places.states.size, 51)
  const shared = [...places.states.keys()].filter((state) => places.codes.has(state))
  t.is(shared.length, 26)
  const homes = new Set([...places.cities.values()].flat())
  t.deepEqual(
    shared.filter((code) => !homes.has(`US-${code}`)),
    [],
  )
})

test('gpu rows: rows of an operator add models and aliases, and replace variants of the same name', (t) => {
  const { gpus, problems } = read(
    'gpus',
    `
[[gpus]]
model = "Zeta 1"
vendor = "Acme Labs"
memory_gb = [96, 64]
variants = [{ name = "PCIe", memory_gb = [64] }]

[[gpus]]
model = "h100"
aliases = ["Hopper big"]
variants = [{ name = "PCIe", fp16_tflops = 700 }, { name = "CNX" }]
`,
  )
  t.deepEqual(problems, [])
  t.like(readGpu(gpus, 'a', { gpu_model: 'ZETA1' }), {
    model: 'Zeta 1',
    memoryGb: [64, 96],
    fp16Tflops: null,
  })
  t.is(readGpu(gpus, 'a', { gpu_model: 'ACME-Labs Zeta1' }).model, 'Zeta 1')
  t.is(readGpu(gpus, 'a', { gpu_model: 'Acme H100' }).model, null)
  t.like(readGpu(gpus, 'a', { gpu_model: 'Zeta 1 PCIe' }), { variant: 'PCIe', memoryGb: [64] })
  t.like(readGpu(gpus, 'a', { gpu_model: 'hopper-big' }), { model: 'H100', memoryGb: [80], fp16Tflops: 700 })
  const h100 = gpus.models.find(({ model }) => model === 'H100')
  t.deepEqual(
    h100?.variants.map(({ name, fp16Tflops }) => [name, fp16Tflops]),
    [
      ['SXM', null],
      ['NVL', 835],
      ['PCIe', 700],
      ['CNX', null],
    ],
  )
  t.deepEqual(h100?.aliases, ['H100 Mega', 'Hopper big'])
})

test('gpu rows: of two rows with one name the later one counts', (t) => {
  const { gpus, problems } = read(
    'gpus',
    `${model('Zeta 1', 'aliases = ["z9", "H200"]\nvariants = [{ name = "SXM" }, { name = "sxm5", memory_gb = [8] }]')}
${model('Zeta 2', 'aliases = ["Z 9"]')}
${model('zeta-2', 'memory_gb = [16]')}
${model('A6000')}
${NAME}model = "H100"
${NAME}model = "A100"
`,
  )
  t.deepEqual(problems, [])
  const reading = (gpu_model: string) => readGpu(gpus, 'eu', { gpu_model })
  t.is(reading('H200').model, 'Zeta 1')
  t.like(reading('z9'), { model: 'Zeta 2', memoryGb: [16] })
  t.like(reading('Zeta 1 SXM'), { variant: 'sxm5', memoryGb: [8] })
  t.is(reading('A6000').model, 'A6000')
  t.is(reading('RTX A6000').model, 'RTX A6000')
  t.is(reading('x').model, 'A100')
})

test('gpu rows: what a source means by a text wins over the rules, for what is behind it as well', (t) => {
  const { gpus, problems } = read(
    'gpus',
    `
[[names]]
source = "eu"
text = "Hopper big, 94GB PCIe"
model = "H100"

[[names]]
source = "eu/curated"
text = "A100"
model = "A800"
`,
  )
  t.deepEqual(problems, [])
  const model = (source: string, gpu_model: string) => readGpu(gpus, source, { gpu_model }).model
  for (const source of ['eu', 'eu/curated', 'eu/other/one'])
    t.like(readGpu(gpus, source, { gpu_model: 'Hopper big, 94GB PCIe' }), {
      model: 'H100',
      variant: 'PCIe',
      memoryGb: [94],
    })
  t.is(model('europe', 'Hopper big, 94GB PCIe'), null)
  t.is(model('eu', 'hopper big, 94GB PCIe'), null, 'the text is exact')
  t.is(model('eu/curated', 'A100'), 'A800')
  t.is(model('eu/curated/deep', 'A100'), 'A800')
  t.is(model('eu', 'A100'), 'A100')
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
  const { places, problems } = read(
    'places',
    meanings(
      'eu: MON1: country = "MX"',
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
    t.deepEqual(readPlace(places, source, text), { country, continent }, `${source}: ${text}`)
})

test('place rows: rows of an operator add names and cities, replace continents, and count where they differ', (t) => {
  const { places, problems } = read(
    'places',
    `
[[countries]]
country = "FI"
names = ["Finlande"]
parts = ["Uusimaa"]

[[countries]]
country = "BE"
names = ["Holland"]

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
`,
  )
  t.deepEqual(problems, [])
  const country = (text: string) => readPlace(places, 'a', text).country
  t.is(country('finlande-1'), 'FI')
  t.is(country('Uusimaa'), 'FI')
  t.is(country('Holland'), 'BE')
  t.is(country('Ontario, CA'), 'US')
  t.is(country('FIN-01'), null)
  t.is(country('Paris, Texas'), null)
  t.is(country('DACH-CH-1'), 'CH')
  t.deepEqual(readPlace(places, 'a', 'dreilandereck'), { country: null, continent: 'EU' })
  t.deepEqual(readPlace(places, 'a', 'DACH'), { country: null, continent: 'EU' })
  t.deepEqual(readPlace(places, 'a', 'Istanbul, TR'), { country: 'TR', continent: 'EU' })
  t.deepEqual(readCountryValue(places, 'Uusimaa'), { near: ['Finland (FI)'] })
})

const model = (name: string, more = ''): string => `[[gpus]]\nmodel = "${name}"\n${more}\n`
const zeta = (more: string): string => model('Zeta 1', more)
const NAME = '[[names]]\nsource = "eu"\ntext = "x"\n'
const place = (more: string): string => `[[places]]\nsource = "e"\nregion = "X1"\n${more}\n`
const country = (code: string, more: string): string => `[[countries]]\ncountry = "${code}"\n${more}`

/** What is wrong with a file, with the line of each problem. */
const BAD: Readonly<Record<'gpus' | 'places', readonly (readonly [toml: string, ...problems: string[]])[]>> =
  {
    gpus: [
      ['[[gpu]]\nmodel = "Zeta 1"', '1: gpu: unknown setting; did you mean gpus?'],
      ['gpus = 1', '1: gpus: expected tables that begin with [[gpus]]'],
      ['[[gpus]]\nvendor = "A"', '1: gpus[0].model: is missing; add it'],
      [zeta('memory = [80]'), '3: gpus[0].memory: unknown setting; did you mean memory_gb?'],
      [zeta('memory_gb = 80'), '3: gpus[0].memory_gb: expected a list'],
      [zeta('memory_gb = [80, -1]'), '3: gpus[0].memory_gb[1]: expected more than 0'],
      [zeta('fp16_tflops = "989"'), '3: gpus[0].fp16_tflops: expected a number'],
      [zeta('variants = ["SXM"]'), '3: gpus[0].variants[0]: expected a section'],
      [
        zeta('variants = [{ name = "80GB" }]'),
        '3: gpus[0].variants[0].name: expected a form such as SXM or PCIe; the memory of a variant is its memory_gb',
      ],
      [
        zeta('aliases = ["显卡"]'),
        '3: gpus[0].aliases[0]: expected letters A-Z and digits, with spaces or any of - _ / . , ( ) between them; [[names]] takes every text',
      ],
      [`${NAME}model = "H10"`, "4: names[0].model: no model is named 'H10'; did you mean H100?"],
      [
        '[[names]]',
        '1: names[0].source: is missing; add it',
        '1: names[0].text: is missing; add it',
        '1: names[0].model: is missing; add it',
      ],
      [model('Zeta 1').repeat(10_001), '1: gpus: at most 10000 rows; remove some'],
    ],
    places: [
      [place('country = "XX"'), '4: places[0].country: no country has the code XX; correct it'],
      [place('country = "UK"'), '4: places[0].country: no country has the code UK; write GB'],
      [place('country = "Canada"'), '4: places[0].country: expected a code of two letters A-Z such as DE'],
      [place('continent = "Europe"'), '4: places[0].continent: expected one of AF, AN, AS, EU, NA, OC, SA'],
      [place(''), '1: places[0]: names no place; add country or continent'],
      [
        place('continent = "NA"\ncontry = "CA"'),
        '5: places[0].contry: unknown setting; did you mean country?',
      ],
      [
        country('QQ', 'names = ["Nowhere"]'),
        '2: countries[0].country: no country has the code QQ; correct it',
      ],
      [
        country('KR', 'names = ["-1-"]'),
        '3: countries[0].names[0]: expected a name that begins with a letter',
      ],
      [
        country('CA', 'cities = ["--"]'),
        '3: countries[0].cities[0]: expected a name that begins with a letter',
      ],
      [
        '[[regions]]\ncodes = ["XEU"]\ncontinent = "EU"\nwithin = ["EU"]',
        '1: regions[0]: expected continent or within, and not both',
      ],
    ],
  }

for (const kind of ['gpus', 'places'] as const)
  test(`${kind} rows: what is wrong is a problem with its line, and the other rows count`, (t) => {
    for (const [toml, ...problems] of BAD[kind]) {
      const tables = read(kind, toml)
      t.deepEqual(
        tables.problems,
        problems.map((problem) => `FILE:${problem}`),
        toml.slice(0, 200),
      )
      t.is(readPlace(tables.places, 'a', 'Tokyo, JP').country, 'JP')
      t.is(readGpu(tables.gpus, 'a', { gpu_model: 'H200' }).model, 'H200')
    }
    t.regex(read(kind, '[[gpus]\n').problems.join(), /^FILE: not TOML: .*\(line 1, column \d+\)$/)
    const problems: Violation[] = []
    const path = join(folder, 'none.toml')
    readVocabulary({ gpus: null, places: null, [kind]: path }, problems)
    t.deepEqual(problems, [{ path, message: 'cannot be read: no such file' }])
  })
