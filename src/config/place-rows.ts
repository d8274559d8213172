import { z } from 'zod'
import { lazy } from '../domain/lazy.ts'
import type { Violation } from '../errors.ts'
import { extendPlaceTable, libraryTable, type PlaceTable } from '../vocabulary/places/place-table.ts'
import { readRowFile, withoutProblems } from './row-file.ts'
import { shippedFile } from './shipped-files.ts'

/** The rows of `config/places.toml`, with those of the operator's file. Problems have file and line. */
export const readPlaceTable = (operatorFile: string | null, problems: Violation[]): PlaceTable =>
  operatorFile === null ? shippedTable() : extendFrom(shippedTable(), operatorFile, problems)

const shippedTable = lazy(() =>
  withoutProblems((problems) => extendFrom(libraryTable(), shippedFile('places.toml'), problems)),
)

const MAX_ROWS = 10_000
const MAX_NAMES = 200
const MAX_CONTINENTS = 7

function extendFrom(base: PlaceTable, file: string, problems: Violation[]): PlaceTable {
  const { rows, report } = readRowFile(file, ROWS, MAX_ROWS, problems)
  const found: Violation[] = []
  const table = extendPlaceTable(base, rows, found)
  report(found)
  return table
}

const CODE = 'expected a code of two letters A-Z such as DE'
const code = z.string(CODE).regex(/^[A-Z]{2}$/, CODE)

const CONTINENT = 'expected one of AF, AN, AS, EU, NA, OC and SA'
const continent = z.enum(['AF', 'AN', 'AS', 'EU', 'NA', 'OC', 'SA'], CONTINENT)

const names = list(text(100), MAX_NAMES, 'texts')
const continents = list(continent, MAX_CONTINENTS, 'continents').min(1, CONTINENT)

const REGION_CODE = 'expected 2 to 5 letters A-Z'
const regionCodes = list(z.string(REGION_CODE).regex(/^[A-Z]{2,5}$/, REGION_CODE), MAX_NAMES, 'codes')

const ROWS = {
  countries: z.strictObject({
    country: code,
    names: names.optional(),
    parts: names.optional(),
    cities: names.optional(),
    provinces: list(code, MAX_NAMES, 'codes').optional(),
    continents: continents.optional(),
  }),
  states: z.strictObject({ state: code, name: text(100), cities: names.optional() }),
  regions: z.strictObject({
    codes: regionCodes.optional(),
    words: names.optional(),
    continent: continent.optional(),
    within: continents.optional(),
  }),
  compass: z.strictObject({ words: names }),
  other_names: z.strictObject({ names }),
  ambiguous: z.strictObject({ codes: regionCodes }),
  places: z.strictObject({
    source: text(200),
    region: text(200),
    country: code.optional(),
    continent: continent.optional(),
  }),
}

function text(length: number) {
  const expected = `expected a text of 1 to ${length} characters`
  return z.string(expected).min(1, expected).max(length, expected)
}

function list<Item extends z.ZodType>(item: Item, most: number, what: string) {
  const expected = `expected a list of at most ${most} ${what}`
  return z.array(item, expected).max(most, expected)
}
