import { gpuCount } from '../domain/price/payment-option.ts'
import { EntrepotError } from '../errors.ts'
import type { FilterDefinition, Judgement } from '../filter-spec/filter.ts'
import { quote } from '../filter-spec/literals.ts'
import type { Scalar } from '../filter-spec/scalar.ts'
import { type JsonValue, numberAt } from '../json/value.ts'
import type { GpuTable } from './gpus/gpu-table.ts'
import { readGpuValue, readVariantValue } from './gpus/read-gpu-value.ts'
import { parseNumbers, parseTexts } from './judge.ts'
import type { Meaning, Tables } from './meaning.ts'
import { type DerivedName, DURATION_PATH, GPUS_PATH, SLA_PATH } from './names.ts'
import { anyIn, continentOf, oneOf, UNKNOWN } from './open-value.ts'
import { continentOfCountry } from './places/place-table.ts'
import { readContinentValue, readCountryValue } from './places/read-place-value.ts'

/** All that the project knows of one derived value. */
type DerivedField = {
  /** Where a gateway shows it. */
  path: string
  definition: Pick<FilterDefinition, 'op' | 'value_type' | 'alias_kind'>
  /** `null` for a listing that has none; open values as in `open-value.ts`. */
  valueIn: (meaning: Meaning, listing: JsonValue) => Scalar | null
  /** @throws EntrepotError `bad_request` */
  parse: (raw: string, tables: Tables, name: string) => Judgement
}

const TEXT = { op: 'in', value_type: 'string', alias_kind: null } as const
const AT_LEAST = { op: 'range', value_type: 'number', alias_kind: 'lower_bound' } as const

export const DERIVED_FIELDS: Readonly<Record<DerivedName, DerivedField>> = {
  gpu: {
    path: '$._meta.gpu.model',
    definition: TEXT,
    valueIn: ({ gpu }) => (gpu.isGpu ? (gpu.model ?? UNKNOWN) : null),
    parse: (raw, { gpus }, name) =>
      parseTexts(raw, { name, read: (text) => modelOf(name, text, gpus), mayBe: () => true }),
  },
  gpu_variant: {
    path: '$._meta.gpu.variant',
    definition: TEXT,
    valueIn: ({ gpu }) => gpu.variant ?? (gpu.mayHaveVariant ? UNKNOWN : null),
    parse: (raw, { gpus }, name) =>
      parseTexts(raw, {
        name,
        read: (text) => variantOf(name, text, gpus),
        mayBe: () => true,
      }),
  },
  gpu_memory_gb_min: {
    path: '$._meta.gpu.memory_gb',
    definition: AT_LEAST,
    valueIn: ({ gpu }) => (gpu.isGpu ? oneOf(gpu.memoryGb) : null),
    parse: (raw, _tables, name) => parseNumbers(raw, name),
  },
  gpu_memory_total_gb_min: {
    path: '$._meta.gpu.memory_gb × gpu_count',
    definition: AT_LEAST,
    valueIn: ({ gpu }, listing) => (gpu.isGpu ? totalOf(gpu.memoryGb, listing) : null),
    parse: (raw, _tables, name) => parseNumbers(raw, name),
  },
  country: {
    path: '$._meta.place.country',
    definition: TEXT,
    valueIn: ({ place: { country, continent } }) =>
      country ?? (continent === null ? UNKNOWN : anyIn(continent)),
    parse: (raw, { places }, name) =>
      parseTexts(raw, {
        name,
        read: (text) => knownOf(name, text, readCountryValue(places, text)),
        mayBe: (open, country) => {
          const continent = continentOf(open)
          return continent === null || continentOfCountry(places, country) === continent
        },
      }),
  },
  continent: {
    path: '$._meta.place.continent',
    definition: TEXT,
    valueIn: ({ place }) => place.continent ?? UNKNOWN,
    parse: (raw, { places }, name) =>
      parseTexts(raw, {
        name,
        read: (text) => knownOf(name, text, readContinentValue(places, text)),
        mayBe: () => true,
      }),
  },
  gpus_min: {
    path: GPUS_PATH,
    definition: AT_LEAST,
    valueIn: ({ gpu }, listing) => (gpu.isGpu ? (gpuCount(listing) ?? UNKNOWN) : null),
    parse: (raw, _tables, name) => parseNumbers(raw, name),
  },
  sla_min: {
    path: SLA_PATH,
    definition: AT_LEAST,
    valueIn: (_meaning, listing) => positive(numberAt(listing, 'offer_resource', 'sla')),
    parse: (raw, _tables, name) => parseNumbers(raw, name),
  },
  rent_hours_min: {
    path: `${DURATION_PATH} / 3600`,
    definition: AT_LEAST,
    valueIn: (_meaning, listing) => {
      const seconds = numberAt(listing, 'max_duration_seconds')
      return positive(seconds === null ? null : seconds / SECONDS_PER_HOUR)
    },
    parse: (raw, _tables, name) => parseNumbers(raw, name),
  },
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

function modelOf(name: string, text: string, gpus: GpuTable): string {
  const value = readGpuValue(gpus, text)
  return 'model' in value ? value.model : refuse(name, text, value.suggestions.map(queryText))
}

function variantOf(name: string, text: string, gpus: GpuTable): string {
  const value = readVariantValue(gpus, text)
  return 'variant' in value ? value.variant : refuse(name, text, value.suggestions.map(queryText))
}

const queryText = (query: Record<string, string>): string =>
  Object.entries(query)
    .map(([name, value]) => `${name}=${value}`)
    .join('&')

function knownOf(name: string, text: string, value: { code: string } | { near: readonly string[] }): string {
  return 'code' in value ? value.code : refuse(name, text, value.near)
}

/** @throws EntrepotError `bad_request` */
function refuse(name: string, text: string, near: readonly string[]): never {
  const hint =
    near.length === 0 ? '; GET /vocabulary lists the values' : `; did you mean ${near.join(' or ')}?`
  throw new EntrepotError('bad_request', `${name}: ${quote(text)} is not a known value${hint}`)
}
