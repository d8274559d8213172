import test from 'ava'
import fc from 'fast-check'
import { shippedVocabulary } from '../../../../src/config/vocabulary.ts'
import { readPlace } from '../../../../src/vocabulary/places/read-place.ts'
import { anyText } from '../../../helpers/any-text.ts'
import { runs } from '../../../helpers/runs.ts'

const table = shippedVocabulary().tables.places
const read = (text: unknown) => readPlace(table, 'seller', text)
const UNKNOWN = { country: null, continent: null }

const countries = [...table.countries.values()]
const country = fc.constantFrom(...countries)
const separator = fc.constantFrom('-', ' ', '_', '/', ', ', ' (')
const CONTINENTS = ['AF', 'AS', 'EU', 'NA', 'OC', 'SA']

test('readPlace: the names of every country read as the country, in any case, behind a city, before a number', (t) => {
  const names = countries.flatMap(({ code, names, continents }) =>
    names.map((name) => ({ code, name, continents })),
  )
  for (const { code, name, continents } of names.filter(({ name }) => name !== 'Georgia'))
    for (const text of [name.toLowerCase(), name.toUpperCase(), `Zzz, ${name}`, `zzz-${name}-3`, `${name} 1`])
      t.deepEqual(read(text), { country: code, continent: continents[0] }, text)
})

test('readPlace: the alpha-3 code of every country with a number is the country, or unknown if it is an airport', (t) => {
  for (const { code, alpha3 } of countries) {
    const expected = table.ambiguous.has(alpha3) ? null : code
    for (const text of [`${alpha3}-1`, `${alpha3} 02`, `${alpha3}_3`])
      t.is(read(text).country, expected, text)
  }
})

test('readPlace: a code behind a city is the country, unless it is a state or a region as well', (t) => {
  for (const { code } of countries) {
    const isShared = table.states.has(code) || table.regions.has(code)
    t.is(read(`Zzz, ${code}`).country, isShared ? null : code, code)
  }
})

test('readPlace: a code by itself, and before codes of its cities, is the country, unless it is a region as well', (t) => {
  for (const { code } of countries.filter(({ code }) => !table.regions.has(code)))
    for (const text of [code, ` ${code} `, `${code}-1`, `${code}-ZZZ-1`]) t.is(read(text).country, code, text)
})

test('readPlace: every state of the US reads as the US by its name, and by its code unless a country has it', (t) => {
  for (const [state, name] of table.states) {
    t.is(read(name).country, name === 'Georgia' ? null : 'US', name)
    t.is(read(`${name}, USA`).country, 'US', name)
    t.is(read(`Lebanon, ${state}`).country, table.codes.has(state) ? null : 'US', state)
  }
})

test('readPlace: a country in a text that names a continent is within the continent', (t) => {
  const property = fc.property(country, fc.constantFrom(...CONTINENTS), ({ code, names }, continent) => {
    const [named, coded] = [`${names[0]}, ${continent}`, `Zzz, ${code}, ${continent}`]
    for (const text of [coded, `${continent}-${code}-1`, named, `${continent}-${names[0]}`]) {
      const { country } = read(text)
      const known = table.countries.get(country ?? '')
      t.true(country === continent || !known || known.continents.some((one) => one === continent), text)
    }
  })
  t.notThrows(() => fc.assert(property, { numRuns: runs(2000) }))
})

test('readPlace: two countries in a text are none', (t) => {
  const property = fc.property(country, country, separator, (a, b, between) => {
    fc.pre(a.code !== b.code)
    const text = `${a.names[0]}${between}zzz${between}${b.names[0]}`
    t.deepEqual(read(text), UNKNOWN, text)
  })
  t.notThrows(() => fc.assert(property, { numRuns: runs(1000) }))
})

test('readPlace: words that are no names say nothing', (t) => {
  const nonsense = fc.stringMatching(/^[bcdfghjklmnpqrstvwxz]{5,12}$/)
  const common = fc.constantFrom(...'rack house preference datacenter zone home in no my to'.split(' '))
  const number = fc.nat(999).map(String)
  const words = fc.array(fc.oneof(nonsense, common, number), { minLength: 1, maxLength: 8 })
  const property = fc.property(words, separator, (parts, between) => {
    const text = parts.join(between)
    t.deepEqual(read(text), UNKNOWN, text)
  })
  t.notThrows(() => fc.assert(property, { numRuns: runs(2000) }))
})

test('readPlace: any JSON value is read, and the reading is a country of the table with its continent', (t) => {
  const piece = fc.constantFrom(...'US NA EU Georgia france CA west 1 , - \u0301 ﷺ'.split(' '), ', ', ' ')
  const pieces = fc.array(piece, { maxLength: 80 }).map((all) => all.join(''))
  const value = fc.oneof(fc.jsonValue(), anyText(), fc.double(), fc.bigInt(), pieces)
  const property = fc.property(value, (text) => {
    const reading = read(text)
    const known = table.countries.get(reading.country ?? '')
    t.true(reading.country === null || known !== undefined)
    t.true(known === undefined || known.continents[0] === reading.continent)
    t.true(typeof text === 'string' || reading.continent === null)
  })
  t.notThrows(() => fc.assert(property, { numRuns: runs(3000) }))
})

test('readPlace: a text of more than 200 characters is not read', (t) => {
  t.is(read(`${' '.repeat(193)}Germany`).country, 'DE')
  t.deepEqual(read(`${' '.repeat(194)}Germany`), UNKNOWN)
  t.deepEqual(read(`${'ﷺ'.repeat(100)}, FR`), UNKNOWN)
})
