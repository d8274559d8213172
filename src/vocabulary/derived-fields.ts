import { gpuCount } from '../domain/price/payment-option.ts'
import { EntrepotError } from '../errors.ts'
import type { Judgement } from '../filter-spec/filter.ts'
import { quote } from '../filter-spec/literals.ts'
import type { Scalar } from '../filter-spec/scalar.ts'
import { type JsonValue, numberAt } from '../json/value.ts'
import { readGpuValue, readVariantValue } from './gpus/read-gpu-value.ts'
import { parseNumbers, parseTexts } from './judge.ts'
import type { Meaning, Tables, ValueReading } from './meaning.ts'
import { type DerivedName, DURATION_PATH, GPUS_PATH, SLA_PATH } from './names.ts'
import { anyIn, continentOf, oneOf, UNKNOWN } from './open-value.ts'
import { continentOfCountry } from './places/place-table.ts'
import { readContinentValue, readCountryValue } from './places/read-place-value.ts'

/** All that the project knows of one derived value. Open values are as in `open-value.ts`. */
type DerivedField = {
  /** Where a gateway shows it. */
  path: string
  /** `null` for a listing that has none. */
  valueIn: (meaning: Meaning, listing: JsonValue) => Scalar | null
  /** The text that a reader means; absent for a number, which is asked as the least. @throws EntrepotError `bad_request` */
  read?: (text: string, tables: Tables, name: string) => string
  /** Whether an open text may be that; default: always. */
  mayBe?: (open: string, value: string, tables: Tables) => boolean
}

export const DERIVED_FIELDS: Readonly<Record<DerivedName, DerivedField>> = {
  gpu: {
    path: '$._meta.gpu.model',
    valueIn: ({ gpu }) => (gpu.isGpu ? (gpu.model ?? UNKNOWN) : null),
    read: (text, { gpus }, name) => knownOf(name, text, readGpuValue(gpus, text)),
  },
  gpu_variant: {
    path: '$._meta.gpu.variant',
    valueIn: ({ gpu }) => gpu.variant ?? (gpu.mayHaveVariant ? UNKNOWN : null),
    read: (text, { gpus }, name) => knownOf(name, text, readVariantValue(gpus, text)),
  },
  gpu_memory_gb_min: {
    path: '$._meta.gpu.memory_gb',
    valueIn: ({ gpu }) => (gpu.isGpu ? oneOf(gpu.memoryGb) : null),
  },
  gpu_memory_total_gb_min: {
    path: '$._meta.gpu.memory_gb × gpu_count',
    valueIn: ({ gpu }, listing) => (gpu.isGpu ? totalOf(gpu.memoryGb, listing) : null),
  },
  country: {
    path: '$._meta.place.country',
    valueIn: ({ place: { country, continent } }) =>
      country ?? (continent === null ? UNKNOWN : anyIn(continent)),
    read: (text, { places }, name) => knownOf(name, text, readCountryValue(places, text)),
    mayBe: (open, country, { places }) => {
      const continent = continentOf(open)
      return continent === null || continentOfCountry(places, country) === continent
    },
  },
  continent: {
    path: '$._meta.place.continent',
    valueIn: ({ place }) => place.continent ?? UNKNOWN,
    read: (text, { places }, name) => knownOf(name, text, readContinentValue(places, text)),
  },
  gpus_min: {
    path: GPUS_PATH,
    valueIn: ({ gpu }, listing) => (gpu.isGpu ? (gpuCount(listing) ?? UNKNOWN) : null),
  },
  sla_min: {
    path: SLA_PATH,
    valueIn: (_meaning, listing) => positive(numberAt(listing, 'offer_resource', 'sla')),
  },
  rent_hours_min: {
    path: `${DURATION_PATH} / 3600`,
    valueIn: (_meaning, listing) => {
      const seconds = numberAt(listing, 'max_duration_seconds')
      return positive(seconds === null ? null : seconds / SECONDS_PER_HOUR)
    },
  },
}

/** @throws EntrepotError `bad_request` */
export function parseDerived(raw: string, name: DerivedName, tables: Tables): Judgement {
  const { read, mayBe } = DERIVED_FIELDS[name]
  if (read === undefined) return parseNumbers(raw, name)
  return parseTexts(raw, {
    name,
    read: (text) => read(text, tables, name),
    mayBe: (open, value) => mayBe?.(open, value, tables) ?? true,
  })
}

const SECONDS_PER_HOUR = 3600

/** Unknown for 0 and less, and for what is no number. */
function positive(value: number | null): Scalar {
  return value !== null && value > 0 ? value : UNKNOWN
}

/** Unknown where the count is. */
function totalOf(memoryGb: readonly number[], listing: JsonValue): Scalar {
  const gpus = gpuCount(listing)
  return gpus === null ? UNKNOWN : oneOf(memoryGb.map((gb) => gb * gpus))
}

/** @throws EntrepotError `bad_request` */
function knownOf(name: string, text: string, reading: ValueReading<string | object>): string {
  if ('value' in reading) return reading.value
  const near = reading.near.map((one) => (typeof one === 'string' ? one : queryText(one)))
  const hint =
    near.length === 0 ? '; GET /vocabulary lists the values' : `; did you mean ${near.join(' or ')}?`
  throw new EntrepotError('bad_request', `${name}: ${quote(text)} is not a known value${hint}`)
}

const queryText = (query: object): string =>
  Object.entries(query)
    .map(([name, value]) => `${name}=${value}`)
    .join('&')
