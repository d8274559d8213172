import { type JsonValue, parseJson } from '../../domain/json.ts'
import { at, textAt } from '../../domain/json-at.ts'
import { walkValue } from '../../domain/json-walk.ts'
import { type Price, priceOf } from '../../domain/price.ts'
import { membersOf } from '../../presentation/observation.ts'
import { listAt } from '../common/source-report.ts'

/** A listing as the table shows it. Every text is a stranger's. */
export type Row = {
  id: string
  /** Whose copy it is; `null` at a plain Registry. */
  registry: string | null
  /** `8 × H200`, or the service that credits are for. */
  offer: string
  /** What else its machine has, in a few words. */
  details: string
  model: string | null
  region: string | null
  price: Price | null
  /** Signing address; else the number that its Registry gave it. */
  publisher: string | null
  /** Signing address, where it is known. */
  address: string | null
  storefrontUrl: string | null
  alsoIn: readonly string[]
  isStale: boolean
  differs: boolean
  conflicts: boolean
  /** Better sources that have its publisher at another storefront. */
  disputed: readonly string[]
  /** Whether a source that may have a better copy did not answer; known of a listing that was asked for by its id. */
  isIncomplete: boolean
  status: string
  createdAt: string | null
  /** The listing as it came. */
  bytes: Uint8Array
}

/** @throws SyntaxError for what is no JSON */
export const readRow = (bytes: Uint8Array): Row => {
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
    price: priceOf(membersOf(listing)),
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

/** How `GET /listings/{id}` answers: this, the listing as it is, and perhaps `complete` and `sources`. */
const OPENING = '{"listing":'

/** @throws SyntaxError for what is no such answer */
export const readOneListing = (bytes: Uint8Array): Row => {
  const { end } = walkValue(bytes, OPENING.length)
  const rest = parseJson(`${OPENING}null${textOf(bytes.subarray(end))}`)
  return { ...readRow(bytes.subarray(OPENING.length, end)), isIncomplete: at(rest, 'complete') === false }
}

export const parseListing = (bytes: Uint8Array): JsonValue => parseJson(textOf(bytes))

/** The listing's JSON, to the character. */
export const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

const offerOf = (listing: JsonValue): string => {
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
