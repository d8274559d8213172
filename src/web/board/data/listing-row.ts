import { type Price, priceOf } from '../../../domain/price.ts'
import { JsonScanner } from '../../../json/scanner.ts'
import { at, type JsonValue, parseJson, textAt } from '../../../json/value.ts'
import { objectOrEmpty } from '../../../presentation/observation.ts'
import { listAt } from '../../common/source-report.ts'

/** All text is untrusted. */
export type ListingRow = {
  id: string
  /** `null` at a plain Registry. */
  registry: string | null
  offer: string
  details: string
  model: string | null
  region: string | null
  price: Price | null
  /** Signing address, else the Registry's number. */
  publisher: string | null
  address: string | null
  storefrontUrl: string | null
  alsoIn: readonly string[]
  isStale: boolean
  differs: boolean
  conflicts: boolean
  disputed: readonly string[]
  /** A better copy may be missing. Known only for a listing that was read by its id. */
  isIncomplete: boolean
  status: string
  createdAt: string | null
  bytes: Uint8Array
}

/** @throws SyntaxError */
export function readListingRow(bytes: Uint8Array): ListingRow {
  const listing = parseListing(bytes)
  const meta = at(listing, '_meta')
  const publisherId = textAt(listing, 'publisher_id')
  return {
    id: textAt(listing, 'listing_id') ?? '',
    registry: textAt(meta, 'registry'),
    offer: offerOf(listing),
    details: detailsOf(listing),
    model: textAt(listing, 'offer_resource', 'gpu_model'),
    region: textAt(listing, 'offer_resource', 'region'),
    price: priceOf(objectOrEmpty(listing)),
    address: textAt(meta, 'publisher'),
    storefrontUrl: textAt(listing, 'storefront_url'),
    publisher: textAt(meta, 'publisher') ?? (publisherId === null ? null : `publisher ${publisherId}`),
    alsoIn: listAt(meta, 'also_in').map(String),
    isStale: at(meta, 'stale') === true,
    differs: at(meta, 'differs') === true,
    conflicts: at(meta, 'conflict') === true,
    disputed: listAt(meta, 'disputed').map(String),
    isIncomplete: false,
    status: textAt(listing, 'status') ?? '',
    createdAt: textAt(listing, 'created_at'),
    bytes,
  }
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

function offerOf(listing: JsonValue): string {
  const member = (name: string): string | null => textAt(listing, 'offer_resource', name)
  const model = member('gpu_model')
  const count = member('gpu_count')
  if (model !== null) return count === null ? model : `${count} × ${model}`
  return member('service_name') ?? member('resource_id') ?? 'unnamed offer'
}

const DETAILS: readonly (readonly [member: string, unit: string])[] = [
  ['vcpu_count', ' vCPU'],
  ['ram_gb', ' GB RAM'],
  ['disk_gb', ' GB disk'],
  ['virtualization_type', ''],
  ['gpu_interconnect', ''],
  ['description', ''],
]

const detailsOf = (listing: JsonValue): string =>
  DETAILS.flatMap(([member, unit]) => {
    const value = textAt(listing, 'offer_resource', member)
    return value === null ? [] : [value.replaceAll('_', ' ') + unit]
  }).join(' · ')
