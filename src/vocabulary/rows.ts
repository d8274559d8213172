import { z } from 'zod'
import { nameParts } from './gpus/name-parts.ts'
import { variantWords } from './gpus/read-name.ts'
import { nameKey } from './places/place-words.ts'

/** A row of a file. `place`: where a member is, for problems. */
type Row<Schema extends z.ZodObject> = z.infer<Schema> & { place: (member: string) => string }

type Rows<Kinds extends Record<string, z.ZodObject>> = { [Kind in keyof Kinds]: readonly Row<Kinds[Kind]>[] }

export type GpuRows = Rows<typeof GPU_ROWS>
export type PlaceRows = Rows<typeof PLACE_ROWS>

const MAX_NAMES = 200

const memory = numbers(4096)
const tflops = number(1_000_000)

const gpuName = (length: number) =>
  text(length).refine(
    (name) => (nameParts(name) ?? []).length > 0,
    'expected letters A-Z and digits, with spaces or any of - _ / . , ( ) between them; [[names]] takes every text',
  )

const variant = z.strictObject(
  {
    name: text(64).refine(
      (name) => variantWords(name).length > 0,
      'expected a form such as SXM or PCIe; the memory of a variant is its memory_gb',
    ),
    memory_gb: memory.optional(),
    fp16_tflops: tflops.optional(),
  },
  'expected a table such as { name = "SXM" }',
)

/** Of a file of models, by the names of its lists. */
export const GPU_ROWS = {
  gpus: z.strictObject({
    model: gpuName(64),
    vendor: text(64).optional(),
    aliases: list(gpuName(100), 50, 'texts').optional(),
    memory_gb: memory.optional(),
    fp16_tflops: tflops.optional(),
    variants: list(variant, 20, 'tables').optional(),
  }),
  names: z.strictObject({ source: text(200), text: text(200), model: text(64) }),
}

const CODE = 'expected a code of two letters A-Z such as DE'
const code = z.string(CODE).regex(/^[A-Z]{2}$/, CODE)

const CONTINENT = 'expected one of AF, AN, AS, EU, NA, OC and SA'
const continent = z.enum(['AF', 'AN', 'AS', 'EU', 'NA', 'OC', 'SA'], CONTINENT)
const continents = list(continent, 7, 'continents').min(1, CONTINENT)

const REGION_CODE = 'expected 2 to 5 letters A-Z'
const regionCodes = list(z.string(REGION_CODE).regex(/^[A-Z]{2,5}$/, REGION_CODE), MAX_NAMES, 'codes')

const placeName = text(100).refine(
  (name) => /^\p{L}/u.test(nameKey(name)),
  'expected a name that begins with a letter',
)
const names = list(placeName, MAX_NAMES, 'texts')

/** Of a file of places, by the names of its lists. */
export const PLACE_ROWS = {
  countries: z.strictObject({
    country: code,
    names: names.optional(),
    parts: names.optional(),
    cities: names.optional(),
    provinces: list(code, MAX_NAMES, 'codes').optional(),
    continents: continents.optional(),
  }),
  states: z.strictObject({ state: code, name: placeName, cities: names.optional() }),
  regions: z
    .strictObject({
      codes: regionCodes.optional(),
      words: names.optional(),
      continent: continent.optional(),
      within: continents.optional(),
    })
    .refine(
      ({ continent, within }) => (continent === undefined) !== (within === undefined),
      'expected continent or within, and not both',
    ),
  compass: z.strictObject({ words: names }),
  other_names: z.strictObject({ names }),
  ambiguous: z.strictObject({ codes: regionCodes }),
  places: z
    .strictObject({
      source: text(200),
      region: text(200),
      country: code.optional(),
      continent: continent.optional(),
    })
    .refine(
      ({ country, continent }) => country !== undefined || continent !== undefined,
      'names no place; add country or continent',
    ),
}

function text(length: number) {
  const expected = `expected a text of 1 to ${length} characters`
  return z.string(expected).min(1, expected).max(length, expected)
}

function number(largest: number) {
  const expected = `expected a number above 0, at most ${largest}`
  return z.number(expected).positive(expected).max(largest, expected)
}

function numbers(largest: number) {
  return list(number(largest), 20, 'numbers')
}

function list<Item extends z.ZodType>(item: Item, most: number, what: string) {
  const expected = `expected a list of at most ${most} ${what}`
  return z.array(item, expected).max(most, expected)
}
