import { groupFamilies } from '../domain/families.ts'
import { gpuCount, hasRates } from '../domain/price/payment-option.ts'
import { PRICE_PERS, readableAmount, unitName } from '../domain/price/price-key.ts'
import { formatAge } from '../domain/timestamp.ts'
import { MIN_BEGINNING } from '../gateway/pages/ids-beginning.ts'
import { at, type JsonObject, type JsonValue, listAt, numberAt, textAt } from '../json/value.ts'
import { plainName, quoted } from './quoted.ts'

/** Offers of one publisher with the same terms in different regions; one that is alone is a family, too. */
export type Family = readonly [first: JsonObject, ...others: JsonObject[]]

/** @param listings with `_meta` */
export const familiesOf = (listings: readonly JsonObject[]): Family[] =>
  groupFamilies(listings, (listing) => ({ listing, publisher: sellerOf(listing) })) as unknown as Family[]

/** What a reader is warned of is not hidden in a family. */
function sellerOf(listing: JsonObject): string {
  const { price: _, place: __, ...meta } = listing._meta as JsonObject
  return JSON.stringify([listing.publisher_id, meta])
}

/** One line each, of about 90 bytes: `7f0c1c1e…|8×H200|1.75 USDC/GPU·h|"California, US"|SLA 99.5 ≤168 h|curated`. */
export function renderLines(families: readonly Family[]): string[] {
  const shorten = shortIds(families.map(([first]) => idOf(first)))
  return families.map((family) => renderLine(family, shorten))
}

function renderLine(family: Family, shorten: (id: string) => string): string {
  const [first] = family
  const sla = numberAt(first, 'offer_resource', 'sla')
  const longest = numberAt(first, 'max_duration_seconds')
  const terms = [
    ...(sla === null ? [] : [`SLA ${sla}`]),
    ...(longest === null || longest <= 0 ? [] : [`≤${formatAge(longest)}`]),
  ].join(' ')
  const parts = [
    shorten(idOf(first)),
    describeOffer(first),
    describePrice(first),
    describePlace(family),
    terms !== '' && terms,
    plainName(textAt(first, '_meta', 'registry') ?? '', MAX_REGISTRY),
    ...warningsOf(first),
  ]
  return parts.filter((part) => part !== false).join('|')
}

// Bytes of what strangers choose, with quotes.
const MAX_REGISTRY = 32
const MAX_OFFER = 24
const MAX_REGION = 24
const MAX_UNIT = 16

function describeOffer(listing: JsonObject): string {
  const gpu = at(listing, '_meta', 'gpu')
  const [model, variant, memory] = [textAt(gpu, 'model'), textAt(gpu, 'variant'), numberAt(gpu, 'memory_gb')]
  const written = textAt(listing, 'offer_resource', 'gpu_model')
  const known = model && [model, variant, memory && `${memory}GB`].filter(Boolean).join(' ')
  const offer = known ?? (written && quoted(written, MAX_OFFER))
  if (offer !== null) return `${gpuCount(listing) ?? '?'}×${offer}`
  const service = textAt(listing, 'offer_resource', 'service_name')
  return service === null ? 'offer not stated' : `credits ${quoted(service, MAX_OFFER)}`
}

/** With decimals applied: symbols are those of the operator's file. */
export function describePrice(listing: JsonObject): string {
  const price = at(listing, '_meta', 'price')
  const amount = textAt(price, 'amount')
  if (amount === null) return hasRates(listing) ? 'price not readable' : 'price on request'
  const symbol = textAt(price, 'symbol')
  const token =
    symbol ?? `${amount === '1' ? 'unit' : 'units'} of ${quoted(textAt(price, 'token') ?? '', MAX_UNIT)}`
  const testnet = at(price, 'testnet') === true ? ' TESTNET' : ''
  const bait = at(price, 'outlier') === true ? ', below 1 % of the median of its model: probably bait' : ''
  return `${readableAmount(amount, symbol !== null)} ${token}/${unitOf(price)}${testnet}${bait}`
}

function unitOf(price: JsonValue): string {
  const unit = textAt(price, 'unit') ?? ''
  const per = PRICE_PERS.find((one) => one === textAt(price, 'price_per')) ?? 'offer'
  return unitName(unit === 'hour' || unit === 'token' ? unit : quoted(unit, MAX_UNIT), per)
}

const MAX_COUNTRIES = 3

function describePlace(family: Family): string | false {
  const region = textAt(family[0], 'offer_resource', 'region')
  if (family.length === 1) return region !== null && quoted(region, MAX_REGION)
  const countries = Map.groupBy(family, (listing) => textAt(listing, '_meta', 'place', 'country') ?? '?')
  const [...counts] = [...countries].sort(([, a], [, b]) => b.length - a.length)
  const named = counts.slice(0, MAX_COUNTRIES).map(([country, { length }]) => `${country} ${length}`)
  const more = counts.length > MAX_COUNTRIES ? [`+${counts.length - MAX_COUNTRIES} more`] : []
  return `${family.length} places: ${[...named, ...more].join(', ')}`
}

function warningsOf(listing: JsonObject): string[] {
  const meta = listing._meta!
  const status = textAt(listing, 'status')
  const named = (member: string, words: string): string[] => {
    const names = listAt(meta, member).map((name) => plainName(String(name), MAX_REGISTRY))
    return names.length === 0 ? [] : [`${words} ${names.join(', ')}`]
  }
  return [
    ...(status === null || status === 'open' ? [] : [`status ${plainName(status, MAX_UNIT)}`]),
    ...(at(meta, 'stale') === true ? ['copy'] : []),
    ...named('unchecked', 'UNCHECKED at'),
    ...named('not_in', 'NOT IN'),
    ...named('disputed', 'SELLER DISPUTED by'),
    ...(at(meta, 'conflict') === true ? ['id of another seller, too'] : []),
    ...(at(meta, 'differs') === true ? ['copies differ'] : []),
  ]
}

const idOf = (listing: JsonObject): string => String(listing.listing_id)

/** Ids of at most so many characters are whole. */
const WHOLE_ID = 13
const MAX_ID = 48

/** The beginning of each id that no other id of the page has. */
function shortIds(ids: readonly string[]): (id: string) => string {
  return (id) => {
    if (id.length <= WHOLE_ID) return plainId(id)
    let length = MIN_BEGINNING
    while (length < id.length && ids.some((other) => other !== id && other.startsWith(id.slice(0, length))))
      length++
    return length + 1 >= id.length ? plainId(id) : `${plainId(id.slice(0, length))}…`
  }
}

/** An id without a digit may be a word of ours, such as `COMPLETE`. */
export const plainId = (id: string): string =>
  /^[\w.-]*\d[\w.-]*$/.test(id) ? plainName(id, MAX_ID) : quoted(id, MAX_ID)
