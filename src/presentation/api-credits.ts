import type { JsonObject } from '../json/value.ts'
import type { RecordDetails } from './details.ts'
import { notStarted } from './lifecycle.ts'
import { joined, textOf } from './observation.ts'
import { advertisedRate } from './pricing.ts'
import type { Quantity } from './record.ts'

/** Listings of API credits: docs/protocol.md#8-domains. */
export const apiCreditsDetails: RecordDetails = (listing, offer) => ({
  schema: 'arkhai.compute.api-credits@1.1.0',
  location: textOf(offer.base_url),
  quantity: unitOfSale(listing),
  delivery: {
    modality: 'seller-issued bearer credential',
    capacity: { status: 'not-applicable', label: 'no compute is provisioned' },
    fulfillment: notStarted('no credits issued'),
    credential: notStarted('no bearer credential issued'),
    service: notStarted('no call metered'),
  },
  resource: {
    service: textOf(offer.service_name),
    // In the seller's own metadata, not in listings.
    model: null,
    quota: textOf(offer.resource_id) === null ? null : `prepaid balance in ${textOf(offer.resource_id)}`,
    access: joined([textOf(offer.base_url), prefixed('described at ', textOf(offer.openapi_url))]),
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
