import { isJsonObject, type JsonObject, parseJson, sameJson } from '../json/value.ts'
import type { Item } from './reading.ts'

/** Whether two copies of a listing have different offers or escrows. */
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
