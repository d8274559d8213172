import type { PricePer } from '../../domain/price/price-key.ts'
import { type JsonValue, textAt } from '../../json/value.ts'

/** How listings of one kind are shown. */
export type ListingView = {
  /** What the first column's price is of. */
  pricePer: PricePer
  priceTitle: string
  hasRegion: boolean
  /** Filters that are shown first: as values with counts, and as ranges. */
  facets: readonly string[]
  ranges: readonly string[]
}

/** By the schema of the filter spec; machines before it is known. */
export const viewOfSpec = (spec: JsonValue): ListingView =>
  spec === null ? MACHINES : (VIEWS.get(textAt(spec, 'schema', 'id') ?? '') ?? OFFERS)

const MACHINES: ListingView = {
  pricePer: 'gpu',
  priceTitle: 'Price per GPU-hour',
  hasRegion: true,
  facets: ['gpu_model', 'region', 'sla', 'virtualization_type', 'gpu_interconnect', 'token'],
  ranges: ['gpu_count_min', 'vcpu_count_min', 'ram_gb_min', 'disk_gb_min'],
}

/** Of any other kind. */
const OFFERS: ListingView = {
  pricePer: 'offer',
  priceTitle: 'Price',
  hasRegion: false,
  facets: ['service_name', 'token'],
  ranges: [],
}

const CREDITS: ListingView = { ...OFFERS, priceTitle: 'Price per credit' }

const VIEWS: ReadonlyMap<string, ListingView> = new Map([
  ['vms.compute', MACHINES],
  ['api_credits', CREDITS],
])
