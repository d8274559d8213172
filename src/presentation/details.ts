import { at, type JsonObject } from '../json/value.ts'
import { joinKnown, nonBlank, type StorefrontView, wholeNumber, withUnit } from './observation.ts'
import type { LifecycleStep, Money, Quantity } from './record.ts'

/** Listings of API credits: docs/protocol.md#8-domains. */
export const apiCreditsDetails = (listing: JsonObject, offer: JsonObject) => ({
  schema: 'arkhai.compute.api-credits@1.1.0',
  location: nonBlank(offer.base_url),
  quantity: unitOfSale(listing),
  delivery: {
    modality: 'seller-issued bearer credential',
    capacity: { status: 'not-applicable' as const, label: 'no compute is provisioned' },
    fulfillment: notStarted('no credits issued'),
    credential: notStarted('no bearer credential issued'),
    service: notStarted('no call metered'),
  },
  resource: {
    service: nonBlank(offer.service_name),
    // In the seller's own metadata, not in listings.
    model: null,
    quota: nonBlank(offer.resource_id) === null ? null : `prepaid balance in ${nonBlank(offer.resource_id)}`,
    access: joinKnown([nonBlank(offer.base_url), prefixed('described at ', nonBlank(offer.openapi_url))]),
    metering: prefixed('drawn from the prepaid balance at ', advertisedRate(listing)?.rate.display ?? null),
  },
})

/** One unit, as for the rate: the buyer chooses the quantity. */
function unitOfSale(listing: JsonObject): Quantity | null {
  const unit = advertisedRate(listing)?.unit
  return unit === undefined ? null : { decimal: '1', unit, display: `1 ${unit}` }
}

const prefixed = (prefix: string, value: string | null): string | null =>
  value === null ? null : prefix + value

/** Listings of virtual machines: docs/protocol.md#8-domains. */
export const virtualMachineDetails = (offer: JsonObject, storefront: StorefrontView) => ({
  schema: 'arkhai.compute.virtual-machine@1.0.0',
  location: nonBlank(offer.region),
  quantity: gpuQuantity(offer),
  delivery: {
    modality: 'SSH lease',
    capacity: capacity(storefront),
    fulfillment: notStarted('no machine provisioned'),
    credential: notStarted('no SSH access granted'),
    service: notStarted('no lease running'),
  },
  resource: {
    hardware: joinKnown([
      gpuQuantity(offer)?.display ?? nonBlank(offer.gpu_model),
      nonBlank(offer.gpu_interconnect),
      nonBlank(offer.cpu_type),
      nonBlank(offer.motherboard),
      nonBlank(offer.host_disk_type),
    ]),
    compute: joinKnown([withUnit(offer.vcpu_count, 'vCPU'), nonBlank(offer.virtualization_type)]),
    memory: joinKnown([withUnit(offer.ram_gb, 'GB RAM'), withUnit(offer.disk_gb, 'GB disk')]),
    network: joinKnown([
      withUnit(offer.internet_download_mbps, 'Mbit/s down'),
      withUnit(offer.internet_upload_mbps, 'Mbit/s up'),
      withUnit(offer.nic_speed_gbps, 'Gbit/s NIC'),
      offer.static_ip === true ? 'static IP' : null,
      withUnit(offer.open_ports_count, 'open ports'),
    ]),
    access: 'SSH',
  },
})

function gpuQuantity({ gpu_count, gpu_model }: JsonObject): Quantity | null {
  const decimal = wholeNumber(gpu_count)
  if (decimal === null) return null
  return { decimal, unit: 'gpu', display: `${decimal} × ${nonBlank(gpu_model) ?? 'GPU'}` }
}

/** The seller's own count, which storefronts may leave out. */
function capacity({ status }: StorefrontView): LifecycleStep {
  const count = wholeNumber(status?.resource_count)
  if (count === null || count === '0') return notStarted('no capacity shown by the storefront')
  return { status: 'complete', label: `${count} resources registered at the storefront` }
}

/** The first rate of the first escrow, in base units: listings do not hold the token's decimals. */
export function advertisedRate(listing: JsonObject): { rate: Money; unit: string } | null {
  const escrow = at(listing, 'accepted_escrows', 0)
  const value = at(escrow, 'rates', 0, 'value')
  const decimal = typeof value === 'string' && /^\d+$/.test(value) ? value : wholeNumber(value)
  const unit = nonBlank(at(escrow, 'rates', 0, 'per'))
  const currency = nonBlank(at(escrow, 'literal_fields', 'token'))
  if (decimal === null || unit === null || currency === null) return null
  const display = `${decimal} base ${decimal === '1' ? 'unit' : 'units'} of ${currency} per ${unit}`
  return { rate: { decimal, currency, display }, unit }
}

export const notStarted = (label: string): LifecycleStep => ({ status: 'not-started', label })
