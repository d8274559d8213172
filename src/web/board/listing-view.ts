import type { PricePer } from '../../domain/price/price-key.ts'
import { VERSIONED_SCHEMA } from '../../filter-spec/schema-id.ts'
import { type JsonValue, textAt } from '../../json/value.ts'
import { isUsable } from './filters/controls.ts'

/** How listings of one kind are shown. */
export type ListingView = {
  /** What the first column's price is of. */
  pricePer: PricePer
  priceTitle: string
  hasRegion: boolean
  /** Filters that are shown first, in this order; `continent` is the one of places. */
  filters: readonly string[]
  /** Those of them that are shown as values with counts. */
  facets: readonly string[]
}

/** By the schema of the filter spec; machines before it is known. */
export function viewOfSpec(spec: JsonValue): ListingView {
  if (spec === null) return MACHINES
  const id = textAt(spec, 'schema', 'id') ?? ''
  const view = VIEWS.get(VERSIONED_SCHEMA.exec(id)?.[2] ?? id) ?? OFFERS
  return { ...view, filters: view.filters.filter((name) => name !== 'continent' || isUsable(name, spec)) }
}

const MACHINES: ListingView = {
  pricePer: 'gpu',
  priceTitle: 'Price per GPU-hour',
  hasRegion: true,
  filters: [
    ...['gpu', 'gpu_count_min', 'continent', 'gpu_memory_gb_min', 'gpu_variant', 'gpu_interconnect'],
    ...['virtualization_type', 'sla', 'token', 'vcpu_count_min', 'ram_gb_min', 'disk_gb_min'],
  ],
  facets: ['gpu', 'gpu_variant', 'gpu_interconnect', 'virtualization_type', 'sla', 'token'],
}

/** Of any other kind. */
const OFFERS: ListingView = {
  pricePer: 'offer',
  priceTitle: 'Price',
  hasRegion: false,
  filters: ['service_name', 'token'],
  facets: ['service_name', 'token'],
}

const CREDITS: ListingView = { ...OFFERS, priceTitle: 'Price per credit' }

const VIEWS: ReadonlyMap<string, ListingView> = new Map([
  ['vms.compute', MACHINES],
  ['vms', MACHINES],
  ['virtual-machine', MACHINES],
  ['api_credits', CREDITS],
  ['api-credits', CREDITS],
])
