/** Parameters for derived values: what a listing means by its members, whatever the spelling or unit. */
export const DERIVED_NAMES = [
  'gpu',
  'gpu_variant',
  'gpu_memory_gb_min',
  'gpu_memory_total_gb_min',
  'country',
  'continent',
  'gpus_min',
  'sla_min',
  'rent_hours_min',
] as const

/** What models are read from, as a filter spec names it. */
export const MODEL_PATH = '$.offer_resource.gpu_model'
export const REGION_PATH = '$.offer_resource.region'
export const GPUS_PATH = '$.offer_resource.gpu_count'
export const SLA_PATH = '$.offer_resource.sla'
export const DURATION_PATH = '$.max_duration_seconds'

export type DerivedName = (typeof DERIVED_NAMES)[number]

export function isDerivedName(name: string): name is DerivedName {
  return DERIVED_NAMES.some((one) => one === name)
}
