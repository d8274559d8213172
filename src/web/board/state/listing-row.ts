import {
  gpuCount,
  hasRates,
  type PaymentOption,
  paymentOptions,
} from '../../../domain/price/payment-option.ts'
import type { PricePer } from '../../../domain/price/price-key.ts'
import { parseTimestamp } from '../../../domain/timestamp.ts'
import { JsonScanner } from '../../../json/scanner.ts'
import {
  at,
  type JsonValue,
  listAt,
  numberAt,
  objectOrEmpty,
  parseJson,
  textAt,
} from '../../../json/value.ts'
import { formatMember } from '../members.ts'

/** All text is untrusted. */
export type ListingRow = {
  id: string
  /** `null` at a plain Registry. */
  registry: string | null
  /** By what the gateway reads, and as the seller wrote it. */
  offer: string
  written: string
  details: string
  /** What the gateway reads: `null` where it knows no model, and at a plain Registry. */
  gpu: string | null
  /** As written. */
  model: string | null
  region: string | null
  country: string | null
  options: readonly PaymentOption[]
  /** Why there is no option. */
  noPrice: 'price on request' | 'price not readable'
  /** `null` where the listing states no valid count: it has no price per GPU. */
  gpus: number | null
  vcpus: number | null
  /** In GB. */
  ram: number | null
  /** In GB. */
  disk: number | null
  /** In per cent. */
  sla: number | null
  /** In seconds. */
  longestRent: number | null
  /** The option by which the gateway ordered or limited. */
  compared: PaymentOption | null
  /** Whether the gateway marks that price as too low to be meant. */
  isOutlier: boolean
  /** Its amount, where it was divided by what the data sheet says. */
  divided: { amount: string; unit: string; per: PricePer; symbol: string | null } | null
  /** Signing address, else the Registry's number. */
  publisher: string | null
  address: string | null
  storefrontUrl: string | null
  alsoIn: readonly string[]
  isStale: boolean
  differs: boolean
  conflicts: boolean
  disputed: readonly string[]
  /** Better sources that could not be asked, and those that have the publisher without the listing. */
  unchecked: readonly string[]
  notIn: readonly string[]
  /** A better copy may be missing. Known only for a listing that was read by its id. */
  isIncomplete: boolean
  /** When its Registry was read, in milliseconds since the Unix epoch. Known only for a listing that was read by its id. */
  asOf: number | null
  status: string
  /** Milliseconds since the Unix epoch. */
  createdAt: number | null
  bytes: Uint8Array
}

/** @throws SyntaxError */
export function readListingRow(bytes: Uint8Array): ListingRow {
  const listing = objectOrEmpty(parseListing(bytes))
  const meta = at(listing, '_meta')
  const publisherId = textAt(listing, 'publisher_id')
  const options = paymentOptions(listing)
  const age = numberAt(meta, 'age_seconds')
  const created = parseTimestamp(textAt(listing, 'created_at') ?? '')
  return {
    id: textAt(listing, 'listing_id') ?? '',
    registry: textAt(meta, 'registry'),
    offer: offerOf(listing, readGpu(meta)),
    written: offerOf(listing, null),
    details: detailsOf(listing),
    gpu: textAt(meta, 'gpu', 'model'),
    model: textAt(listing, 'offer_resource', 'gpu_model'),
    region: textAt(listing, 'offer_resource', 'region'),
    country: textAt(meta, 'place', 'country'),
    options,
    noPrice: hasRates(listing) ? 'price not readable' : 'price on request',
    gpus: gpuCount(listing),
    vcpus: numberAt(listing, 'offer_resource', 'vcpu_count'),
    ram: numberAt(listing, 'offer_resource', 'ram_gb'),
    disk: numberAt(listing, 'offer_resource', 'disk_gb'),
    sla: numberAt(listing, 'offer_resource', 'sla'),
    longestRent: numberAt(listing, 'max_duration_seconds'),
    compared: comparedOption(options, at(meta, 'price')),
    isOutlier: at(meta, 'price', 'outlier') === true,
    divided: dividedPrice(at(meta, 'price')),
    address: textAt(meta, 'publisher'),
    storefrontUrl: textAt(listing, 'storefront_url'),
    publisher: textAt(meta, 'publisher') ?? (publisherId === null ? null : `publisher ${publisherId}`),
    alsoIn: listAt(meta, 'also_in').map(String),
    isStale: at(meta, 'stale') === true,
    differs: at(meta, 'differs') === true,
    conflicts: at(meta, 'conflict') === true,
    disputed: listAt(meta, 'disputed').map(String),
    unchecked: listAt(meta, 'unchecked').map(String),
    notIn: listAt(meta, 'not_in').map(String),
    isIncomplete: false,
    asOf: age === null ? null : Date.now() - age * 1000,
    status: textAt(listing, 'status') ?? '',
    createdAt: created === null ? null : Math.floor(created / 1000),
    bytes,
  }
}

function comparedOption(options: readonly PaymentOption[], price: JsonValue): PaymentOption | null {
  const [chain, token, value, per] = ['chain', 'token', 'value', 'per'].map((name) => textAt(price, name))
  return (
    options.find(
      (one) => one.chain === chain && one.token === token && String(one.value) === value && one.per === per,
    ) ?? null
  )
}

function dividedPrice(price: JsonValue): ListingRow['divided'] {
  const per = textAt(price, 'price_per')
  if (per !== 'gb' && per !== 'tflop') return null
  const [amount = '', unit = ''] = ['amount', 'unit'].map((name) => textAt(price, name) ?? '')
  return { amount, unit, per, symbol: textAt(price, 'symbol') }
}

/** Start of a `GET /listings/{id}` answer; `complete` and `sources` may follow the listing. */
const OPENING = '{"listing":'

/** @throws SyntaxError */
export function readOneListing(bytes: Uint8Array): ListingRow {
  const end = new JsonScanner(bytes).valueEnd(OPENING.length)
  const rest = parseJson(`${OPENING}null${decodeUtf8(bytes.subarray(end))}`)
  return {
    ...readListingRow(bytes.subarray(OPENING.length, end)),
    isIncomplete: at(rest, 'complete') === false,
  }
}

export const parseListing = (bytes: Uint8Array): JsonValue => parseJson(decodeUtf8(bytes))

export const decodeUtf8 = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

/** `H100 SXM`. */
function readGpu(meta: JsonValue): string | null {
  const [model, variant] = [textAt(meta, 'gpu', 'model'), textAt(meta, 'gpu', 'variant')]
  return model === null || variant === null ? model : `${model} ${variant}`
}

function offerOf(listing: JsonValue, gpu: string | null): string {
  const member = (name: string): string | null => textAt(listing, 'offer_resource', name)
  const model = gpu ?? member('gpu_model')
  const count = member('gpu_count')
  if (model !== null) return count === null ? model : `${count} × ${model}`
  return member('service_name') ?? member('resource_id') ?? 'unnamed offer'
}

const DETAILS: readonly (readonly [member: string, noun: string])[] = [
  ['vcpu_count', ' vCPU'],
  ['ram_gb', ' RAM'],
  ['disk_gb', ' disk'],
  ['sla', ' SLA'],
  ['virtualization_type', ''],
  ['gpu_interconnect', ''],
  ['description', ''],
]

const detailsOf = (listing: JsonValue): string =>
  DETAILS.flatMap(([member, noun]) => {
    const value = at(listing, 'offer_resource', member)
    return value === null ? [] : [formatMember(member, value) + noun]
  }).join(' · ')

type Warning = readonly [title: string, why: string]

/** What is doubtful about a listing: flags of its row, warnings of its sheet. Untrusted text. */
export function warningsOf(row: ListingRow): Warning[] {
  const { disputed, unchecked, notIn, isIncomplete, isStale, differs, conflicts } = row
  const all: readonly (readonly [is: boolean, ...Warning])[] = [
    [
      disputed.length > 0,
      'disputed',
      `${disputed.join(', ')} has another storefront for this seller: check it before you pay`,
    ],
    [
      unchecked.length > 0,
      'unchecked',
      `${unchecked.join(', ')} could not be asked, and may have other terms, or have it closed`,
    ],
    [
      notIn.length > 0,
      'not in a better registry',
      `${notIn.join(', ')} has this seller without this listing: ask the seller before you pay`,
    ],
    [isIncomplete, 'incomplete', 'a Registry that may have a better copy of this listing did not answer'],
    [isStale, 'cached copy', 'the Registry did not answer, so this is an older copy'],
    [differs, 'versions differ', 'another Registry lists it with other terms'],
    [conflicts, 'duplicate ID', 'another seller has a listing with this id: check the seller'],
  ]
  return all.flatMap(([is, ...warning]) => (is ? [warning] : []))
}
