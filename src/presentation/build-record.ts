import { formatTimestamp, parseTimestamp } from '../domain/timestamp.ts'
import { at, type JsonObject, type JsonValue, listAt, objectOrEmpty } from '../json/value.ts'
import { advertisedRate, apiCreditsDetails, notStarted, virtualMachineDetails } from './details.ts'
import { nonBlank, type ObservedListing, type StorefrontView, wholeNumber } from './observation.ts'
import type { LifecycleStep, ListingKind, NegotiationEntry, PresentationRecord, Quantity } from './record.ts'

export class UnpresentableError extends Error {}

/**
 * Takes only what the Registry and the storefront show; the rest is `null`.
 * @throws UnpresentableError for a listing without an id or a valid `created_at`, or of neither kind
 */
export function buildRecord(observation: ObservedListing, storefront: StorefrontView): PresentationRecord {
  const { listing, registry, publisher } = observation
  const offer = objectOrEmpty(listing.offer_resource)
  const kind = kindOf(observation)
  const { schema, location, quantity, delivery, resource } =
    kind === 'virtual-machine' ? virtualMachineDetails(offer, storefront) : apiCreditsDetails(listing, offer)
  const pricing = pricingOf(listing, storefront, quantity)
  const publishedAt = publicationTime(observation)
  const listingId = nonBlank(listing.listing_id)
  if (listingId === null) throw new UnpresentableError('it has no listing_id')
  const record = {
    // A real listing of the market, not an example.
    market_data: true,
    listing_id: listingId,
    seller: nonBlank(storefront.status?.agent_id) ?? publisher,
    publisher: publisher ?? wholeNumber(listing.publisher_id) ?? 'unknown',
    storefront: nonBlank(listing.storefront_url),
    registry,
    kind,
    published_at: publishedAt,
    domain: kind,
    schema,
    location,
    availability: {
      asserted_by: 'seller',
      state: isAvailable(observation, storefront) ? 'asserted-available' : null,
    },
    pricing,
    negotiation: negotiationOf(pricing, publishedAt),
    settlement: settlementOf(observation),
    lifecycle: lifecycleOf(listing, pricing),
    delivery,
    resource,
  } as const satisfies Record<keyof PresentationRecord, unknown>
  // The compiler cannot follow `resource` through `details`.
  return record as PresentationRecord
}

function kindOf({ listing }: ObservedListing): ListingKind {
  const offer = objectOrEmpty(listing.offer_resource)
  if (nonBlank(offer.kind)?.startsWith('api_credits.') || nonBlank(offer.service_name) !== null)
    return 'api-credits'
  if (nonBlank(offer.gpu_model) !== null || wholeNumber(offer.vcpu_count) !== null) return 'virtual-machine'
  throw new UnpresentableError('its offer is neither a virtual machine nor API credits')
}

function pricingOf(
  listing: JsonObject,
  storefront: StorefrontView,
  quantity: Quantity | null,
): PresentationRecord['pricing'] {
  const advertised = advertisedRate(listing)
  return {
    mode: negotiates(storefront) || advertised === null ? 'configured-negotiation' : 'listed',
    advertised_rate: advertised?.rate ?? null,
    advertised_unit: advertised?.unit ?? null,
    quantity,
    duration: longestDuration(listing),
    constraints: constraintsOf(listing),
  }
}

/** Storefronts publish their strategy; without one, the listed price is fixed. */
function negotiates({ status }: StorefrontView): boolean {
  const strategy = nonBlank(at(status, 'checks', 'negotiation_strategy'))
  return strategy !== null && strategy !== 'unconfigured'
}

function longestDuration({ max_duration_seconds: seconds }: JsonObject): Quantity | null {
  const decimal = wholeNumber(seconds)
  return decimal === null ? null : { decimal, unit: 'second', display: `at most ${decimal} seconds` }
}

function constraintsOf(listing: JsonObject): string[] {
  const seconds = wholeNumber(listing.max_duration_seconds)
  const oracle = nonBlank(listing.oracle_address)
  return [
    ...(seconds === null ? [] : [`duration at most ${seconds} seconds`]),
    ...listAt(listing, 'accepted_escrows').map((escrow) => `escrow ${place(escrow, 'escrow_address')}`),
    ...listAt(listing, 'demands').map((demand) => `demand by arbiter ${place(demand, 'arbiter')}`),
    ...(oracle === null ? [] : [`oracle ${oracle}`]),
  ]
}

const place = (entry: JsonValue, address: string): string =>
  `${nonBlank(at(entry, address)) ?? 'without address'} on ${nonBlank(at(entry, 'chain_name')) ?? 'any chain'}`

/** Registries mean UTC without stating it. */
function publicationTime({ listing }: ObservedListing): string {
  const at = parseTimestamp(nonBlank(listing.created_at) ?? '')
  if (at === null) throw new UnpresentableError('its created_at is not a timestamp')
  return `${formatTimestamp(at)}Z`
}

const isAvailable = (
  { listing }: ObservedListing,
  { status, listing: atStorefront }: StorefrontView,
): boolean =>
  listing.status === 'open' &&
  status?.paused !== true &&
  atStorefront?.paused !== true &&
  (atStorefront === null || (nonBlank(atStorefront.status) ?? 'open') === 'open')

/** Only the seller's advertisement is public. Listings do not hold the signature of their publish. */
const negotiationOf = (
  { advertised_rate: amount }: PresentationRecord['pricing'],
  publishedAt: string,
): NegotiationEntry[] => [
  { stage: 'advertised', ...NOT_SHOWN, status: 'shown', actor: 'seller', occurred_at: publishedAt, amount },
  { stage: 'buyer-proposed', ...NOT_SHOWN },
  { stage: 'seller-countered', ...NOT_SHOWN },
  { stage: 'agreed', ...NOT_SHOWN },
]

const NOT_SHOWN = {
  status: 'not-applicable',
  actor: null,
  round: null,
  signature: null,
  occurred_at: null,
  amount: null,
} as const

function settlementOf({ listing }: ObservedListing): PresentationRecord['settlement'] {
  const escrow = at(listing, 'accepted_escrows', 0)
  const address = nonBlank(at(escrow, 'escrow_address'))
  return {
    asset_class: nonBlank(at(escrow, 'literal_fields', 'token')) === null ? null : 'ERC-20 token',
    network: nonBlank(at(escrow, 'chain_name')),
    mechanism: address === null ? null : `on-chain escrow ${address}`,
  }
}

const lifecycleOf = (
  listing: JsonObject,
  { mode }: PresentationRecord['pricing'],
): PresentationRecord['lifecycle'] => ({
  advertised: advertised(listing),
  proposed: notStarted('no proposal by a buyer'),
  // A listed price cannot be negotiated, so it is never countered.
  countered:
    mode === 'listed'
      ? { status: 'not-applicable', label: 'the listed price is taken or left' }
      : notStarted('no counter-offer by the seller'),
  agreed: notStarted('no agreement'),
  settled: notStarted('no escrow'),
  fulfilled: notStarted('nothing delivered'),
  resolved: notStarted('nothing to resolve'),
})

const advertised = ({ status }: JsonObject): LifecycleStep =>
  status === 'open'
    ? { status: 'current', label: 'advertised and open' }
    : { status: 'complete', label: `advertised, now ${nonBlank(status) ?? 'of unknown status'}` }
