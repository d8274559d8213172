import type { JsonValue } from '../../json/value.ts'
import { isJsonObject } from '../../json/value.ts'
import { basisOf, gpuCount, type PaymentOption, paymentOptions } from './payment-option.ts'
import { comparePriceKeys, type PriceKey, type PricePer, priceKey } from './price-key.ts'

export type LowestPrice = { key: PriceKey; option: PaymentOption; gpus: number | null }

/** A listing's lowest price in each basis (`basisOf`); the first of equal ones. */
export function lowestPrices(listing: JsonValue, per: PricePer): Map<string, LowestPrice> {
  const prices = new Map<string, LowestPrice>()
  if (!isJsonObject(listing)) return prices
  const gpus = gpuCount(listing)
  for (const option of paymentOptions(listing)) {
    const key = priceKey(option, gpus, per)
    if (key === null) continue
    const basis = basisOf(option)
    const known = prices.get(basis)
    if (known === undefined || comparePriceKeys(key, known.key) < 0) prices.set(basis, { key, option, gpus })
  }
  return prices
}
