import type { JsonObject } from '../json/value.ts'
import type { StorefrontView } from './observation.ts'
import type { PresentationRecord, Quantity } from './record.ts'

export type RecordDetails = (
  listing: JsonObject,
  offer: JsonObject,
  storefront: StorefrontView,
) => {
  schema: string
  location: string | null
  quantity: Quantity | null
  delivery: PresentationRecord['delivery']
  resource: PresentationRecord['resource']
}
