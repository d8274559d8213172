import test from 'ava'
import { shippedVocabulary } from '../../../../src/config/vocabulary.ts'
import { continentOfCountry, countryName } from '../../../../src/vocabulary/places/place-table.ts'
import {
  continentName,
  readContinentValue,
  readCountryValue,
} from '../../../../src/vocabulary/places/read-place-value.ts'

const table = shippedVocabulary().tables.places
const country = (text: string) => readCountryValue(table, text)
const continent = (text: string) => readContinentValue(table, text)

test('country: codes, names and short forms in any case are the country', (t) => {
  for (const text of ['de', ' GERMANY ', 'Deutschland']) t.deepEqual(country(text), { value: 'DE' }, text)
  for (const text of ['UK', 'gbr', 'united-kingdom']) t.deepEqual(country(text), { value: 'GB' }, text)
  for (const text of ['us', 'U.S.']) t.deepEqual(country(text), { value: 'US' }, text)
  t.deepEqual(country('turkiye'), { value: 'TR' })
  for (const { code, alpha3, names } of table.countries.values())
    for (const text of [code, alpha3, ...names]) t.deepEqual(country(text), { value: code }, text)
})

test('country: what is unknown, or a part of a country, has countries near it', (t) => {
  const NEAR: Readonly<Record<string, string[]>> = {
    Germny: ['Germany (DE)'],
    Swede: ['Sweden (SE)'],
    Congo: ['Democratic Republic of the Congo (CD)', 'Republic of the Congo (CG)'],
    'Virgin Islands': ['British Virgin Islands (VG)', 'U.S. Virgin Islands (VI)'],
    Scotland: ['United Kingdom (GB)'],
    Texas: ['United States (US)'],
    Xyzzy: [],
    XX: [],
    '': [],
    ['x'.repeat(100_000)]: [],
  }
  for (const [text, near] of Object.entries(NEAR)) t.deepEqual(country(text), { near }, text.slice(0, 20))
})

test('continent: codes and names in any case are the continent', (t) => {
  for (const text of ['EU', 'eu', 'EUR', 'Europe', 'europe'])
    t.deepEqual(continent(text), { value: 'EU' }, text)
  for (const text of ['NA', 'North America', 'north-america', 'northamerica'])
    t.deepEqual(continent(text), { value: 'NA' }, text)
  t.deepEqual(continent('Antarctica'), { value: 'AN' })
})

test('continent: what is unknown, or a region within continents, has continents near it', (t) => {
  const NEAR: Readonly<Record<string, string[]>> = {
    Europa: ['Europe (EU)'],
    America: ['North America (NA)', 'South America (SA)'],
    'Middle East': ['Asia (AS)'],
    AP: ['Asia (AS)', 'Oceania (OC)'],
    Germany: [],
    '': [],
    ['x'.repeat(100_000)]: [],
  }
  for (const [text, near] of Object.entries(NEAR)) t.deepEqual(continent(text), { near }, text.slice(0, 20))
})

test('countries and continents have English names', (t) => {
  t.is(countryName(table, 'GB'), 'United Kingdom')
  t.is(countryName(table, 'XX'), 'XX')
  t.is(continentName('EU'), 'Europe')
  t.is(continentName('XX'), 'XX')
  t.is(continentOfCountry(table, 'RU'), 'EU')
  t.is(continentOfCountry(table, 'XX'), null)
})
