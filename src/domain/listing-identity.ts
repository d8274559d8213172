import { isJsonObject, type JsonObject, parseJson, sameJson } from './json.ts'
import type { Item } from './reading.ts'

/** What tells two listings of one `listing_id` apart. */
export type Identity = Pick<Item, 'publisher' | 'storefrontUrl'>

/** For two items with one `listing_id`: their publishers decide, or their storefronts where one is not known. */
export function isSameListing(a: Identity, b: Identity): boolean {
  return a.publisher !== null && b.publisher !== null
    ? a.publisher === b.publisher
    : a.storefrontUrl !== null && a.storefrontUrl === b.storefrontUrl
}

/** Whether two copies of a listing have other offers or escrows. */
export function differ(a: Item, b: Item): boolean {
  if (Buffer.compare(a.bytes, b.bytes) === 0) return false
  const [one, other] = [readObject(a), readObject(b)]
  return (
    !sameJson(one.offer_resource, other.offer_resource) ||
    !sameJson(one.accepted_escrows, other.accepted_escrows)
  )
}

function readObject({ bytes }: Item): JsonObject {
  const value = parseJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'))
  return isJsonObject(value) ? value : {}
}
