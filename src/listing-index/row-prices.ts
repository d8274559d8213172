import { gpuCount } from '../domain/price/payment-option.ts'
import { keyPerGpu, lowestPrices, type PriceKey, type PricePer } from '../domain/price/price-key.ts'
import { isJsonObject, type JsonValue } from '../json/value.ts'

/** The lowest price of one listing in each basis. */
export type RowPrices = {
  /** `null` for an invalid count. */
  gpus: number | null
  bases: readonly string[]
  /** Per basis, of the whole offer. */
  keys: readonly PriceKey[]
}

export const NO_PRICES: RowPrices = { gpus: 1, bases: [], keys: [] }

export function rowPrices(document: JsonValue): RowPrices {
  const gpus = isJsonObject(document) ? gpuCount(document) : 1
  const lowest = lowestPrices(document, 'offer')
  return { gpus, bases: [...lowest.keys()], keys: Array.from(lowest.values(), ({ key }) => key) }
}

export function keyFor(per: PricePer, offer: PriceKey, gpus: number | null): PriceKey | null {
  return per === 'offer' ? offer : keyPerGpu(offer, gpus)
}
