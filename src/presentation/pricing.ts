import type { JsonObject } from '../json/value.ts'
import { countOf, firstOf, membersOf, type StorefrontView, textOf } from './observation.ts'
import type { Money, PresentationRecord, Quantity } from './record.ts'

/** The first rate of the first escrow, in base units: listings do not hold the token's decimals. */
export function advertisedRate(listing: JsonObject): { rate: Money; unit: string } | null {
  const escrow = firstOf(listing.accepted_escrows)
  const { value, per } = firstOf(escrow.rates)
  const decimal = typeof value === 'string' && /^\d+$/.test(value) ? value : countOf(value)
  const unit = textOf(per)
  const currency = textOf(membersOf(escrow.literal_fields).token)
  if (decimal === null || unit === null || currency === null) return null
  return { rate: { decimal, currency, display: `${decimal} base units of ${currency} per ${unit}` }, unit }
}

export function pricingOf(
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
  const strategy = textOf(membersOf(status?.checks).negotiation_strategy)
  return strategy !== null && strategy !== 'unconfigured'
}

function longestDuration({ max_duration_seconds: seconds }: JsonObject): Quantity | null {
  const decimal = countOf(seconds)
  return decimal === null ? null : { decimal, unit: 'second', display: `at most ${decimal} seconds` }
}

function constraintsOf(listing: JsonObject): string[] {
  const seconds = countOf(listing.max_duration_seconds)
  const oracle = textOf(listing.oracle_address)
  return [
    ...(seconds === null ? [] : [`duration at most ${seconds} seconds`]),
    ...objects(listing.accepted_escrows).map(
      (escrow) => `escrow ${textOf(escrow.escrow_address) ?? 'without address'} on ${chainOf(escrow)}`,
    ),
    ...objects(listing.demands).map(
      (demand) => `demand by arbiter ${textOf(demand.arbiter) ?? 'without address'} on ${chainOf(demand)}`,
    ),
    ...(oracle === null ? [] : [`oracle ${oracle}`]),
  ]
}

const objects = (value: JsonObject[string] | undefined): JsonObject[] =>
  Array.isArray(value) ? value.map(membersOf) : []

const chainOf = ({ chain_name: chain }: JsonObject): string => textOf(chain) ?? 'any chain'
