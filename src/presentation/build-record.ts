import { formatTimestamp, parseTimestamp } from '../domain/timestamp.ts'
import { apiCreditsDetails } from './api-credits.ts'
import { lifecycleOf } from './lifecycle.ts'
import { negotiationOf } from './negotiation.ts'
import { countOf, type FoundListing, firstOf, membersOf, type StorefrontView, textOf } from './observation.ts'
import { pricingOf } from './pricing.ts'
import type { Kind, PresentationRecord } from './record.ts'
import { virtualMachineDetails } from './virtual-machine.ts'

export class UnpresentableError extends Error {}

/**
 * Takes only what the Registry and the storefront show; the rest is `null`.
 * @throws UnpresentableError for a listing without an id or a valid `created_at`, or of neither kind
 */
export function buildRecord(found: FoundListing, storefront: StorefrontView): PresentationRecord {
  const { listing, registry, publisher } = found
  const offer = membersOf(listing.offer_resource)
  const kind = kindOf(found)
  const details = kind === 'virtual-machine' ? virtualMachineDetails : apiCreditsDetails
  const { schema, location, quantity, delivery, resource } = details(listing, offer, storefront)
  const pricing = pricingOf(listing, storefront, quantity)
  const publishedAt = publicationTime(found)
  const listingId = textOf(listing.listing_id)
  if (listingId === null) throw new UnpresentableError('it has no listing_id')
  const record = {
    // A real listing of the market, not an example.
    market_data: true,
    listing_id: listingId,
    seller: textOf(storefront.status?.agent_id) ?? publisher,
    publisher: publisher ?? countOf(listing.publisher_id) ?? 'unknown',
    storefront: textOf(listing.storefront_url),
    registry,
    kind,
    published_at: publishedAt,
    domain: kind,
    schema,
    location,
    availability: {
      asserted_by: 'seller',
      state: isAvailable(found, storefront) ? 'asserted-available' : null,
    },
    pricing,
    negotiation: negotiationOf(pricing, publishedAt),
    settlement: settlementOf(found),
    lifecycle: lifecycleOf(listing, pricing),
    delivery,
    resource,
  } as const satisfies Record<keyof PresentationRecord, unknown>
  // The compiler cannot follow `resource` through `details`.
  return record as PresentationRecord
}

function kindOf({ listing }: FoundListing): Kind {
  const offer = membersOf(listing.offer_resource)
  if (textOf(offer.kind)?.startsWith('api_credits.') || textOf(offer.service_name) !== null)
    return 'api-credits'
  if (textOf(offer.gpu_model) !== null || countOf(offer.vcpu_count) !== null) return 'virtual-machine'
  throw new UnpresentableError('its offer is neither a virtual machine nor API credits')
}

/** Registries mean UTC without stating it. */
function publicationTime({ listing }: FoundListing): string {
  const at = parseTimestamp(textOf(listing.created_at) ?? '')
  if (at === null) throw new UnpresentableError('its created_at is no time')
  return `${formatTimestamp(at)}Z`
}

const isAvailable = ({ listing }: FoundListing, { status, listing: atStorefront }: StorefrontView): boolean =>
  listing.status === 'open' &&
  status?.paused !== true &&
  atStorefront?.paused !== true &&
  (atStorefront === null || (textOf(atStorefront.status) ?? 'open') === 'open')

function settlementOf({ listing }: FoundListing): PresentationRecord['settlement'] {
  const escrow = firstOf(listing.accepted_escrows)
  const address = textOf(escrow.escrow_address)
  return {
    asset_class: textOf(membersOf(escrow.literal_fields).token) === null ? null : 'ERC-20 token',
    network: textOf(escrow.chain_name),
    mechanism: address === null ? null : `on-chain escrow ${address}`,
  }
}
