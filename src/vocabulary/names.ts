import { setFormOf } from '../filter-spec/operations/operations.ts'
import { compilePath, type Path } from '../filter-spec/path.ts'

/** What models are read from, as a filter spec names it. */
export const MODEL_PATH = '$.offer_resource.gpu_model'
export const REGION_PATH = '$.offer_resource.region'
export const GPUS_PATH = '$.offer_resource.gpu_count'
export const SLA_PATH = '$.offer_resource.sla'
export const DURATION_PATH = '$.max_duration_seconds'

/**
 * Parameters for derived values: what a listing means by its members, whatever the spelling or unit. Each with what it is derived from: a
 * filter spec without a filter over one of these has no such parameter. Empty: every spec has it.
 */
const DERIVED_FROM = {
  gpu: [MODEL_PATH],
  gpu_variant: [MODEL_PATH],
  gpu_memory_gb_min: [MODEL_PATH, '$.offer_resource.gpu_memory_gb'],
  gpu_memory_total_gb_min: [MODEL_PATH, '$.offer_resource.gpu_memory_gb'],
  country: [REGION_PATH],
  continent: [REGION_PATH],
  gpus_min: [GPUS_PATH],
  sla_min: [SLA_PATH],
  rent_hours_min: [],
}

export type DerivedName = keyof typeof DERIVED_FROM

export const DERIVED_NAMES = Object.keys(DERIVED_FROM) as readonly DerivedName[]

export function isDerivedName(name: string): name is DerivedName {
  return Object.hasOwn(DERIVED_FROM, name)
}

/** @param paths of the filters of a filter spec */
export function isCovered(name: string, paths: readonly Path[]): boolean {
  const from: readonly string[] = isDerivedName(name) ? DERIVED_FROM[name] : []
  const texts = new Set(paths.map((path) => JSON.stringify(path)))
  return from.length === 0 || from.some((path) => texts.has(JSON.stringify(compilePath(path))))
}

/** Whether a question compares prices: it names models or a ceiling. */
export function comparesPrices(parameters: readonly (readonly [name: string, value: string])[]): boolean {
  return parameters.some(
    ([name, value]) => COMPARED.has(name) && value !== '' && [null, 'in'].includes(setFormOf(value)),
  )
}

const COMPARED: ReadonlySet<string> = new Set(['gpu', 'gpu_model', 'price_max'])
