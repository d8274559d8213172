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

const text = (length: number) => z.string().min(1).max(length)
const memory = z.array(z.number().positive().max(4096)).max(20).optional()
const tflops = z.number().positive().max(1_000_000).optional()

const gpuName = (length: number) =>
  text(length).refine(
    (name) => (nameParts(name) ?? []).length > 0,
    'expected letters A-Z and digits, with spaces or any of - _ / . , ( ) between them; [[names]] takes every text',
  )

const variant = z.strictObject({
  name: text(64).refine(
    (name) => variantWords(name).length > 0,
    'expected a form such as SXM or PCIe; the memory of a variant is its memory_gb',
  ),
  memory_gb: memory,
  fp16_tflops: tflops,
})

/** Of a file of models, by the names of its lists. */
export const GPU_ROWS = {
  gpus: z.strictObject({
    model: gpuName(64),
    vendor: text(64).optional(),
    aliases: z.array(gpuName(100)).max(50).optional(),
    memory_gb: memory,
    fp16_tflops: tflops,
    variants: z.array(variant).max(20).optional(),
  }),
  names: z.strictObject({ source: text(200), text: text(200), model: text(64) }),
}

const code = z.string().regex(/^[A-Z]{2}$/, 'expected a code of two letters A-Z such as DE')

const continent = z.enum(['AF', 'AN', 'AS', 'EU', 'NA', 'OC', 'SA'])
const continents = z.array(continent).min(1).max(7)

const regionCodes = z.array(z.string().regex(/^[A-Z]{2,5}$/, 'expected 2 to 5 letters A-Z')).max(MAX_NAMES)

const placeName = text(100).refine(
  (name) => /^\p{L}/u.test(nameKey(name)),
  'expected a name that begins with a letter',
)
const names = z.array(placeName).max(MAX_NAMES)

/** Of a file of places, by the names of its lists. */
export const PLACE_ROWS = {
  countries: z.strictObject({
    country: code,
    names: names.optional(),
    parts: names.optional(),
    cities: names.optional(),
    provinces: z.array(code).max(MAX_NAMES).optional(),
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
