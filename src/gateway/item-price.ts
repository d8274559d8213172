import { basisOf, gpuCount, type PaymentOption, paymentOptions } from '../domain/price/payment-option.ts'
import {
  comparePriceKeys,
  formatAmount,
  type PriceKey,
  type PricePer,
  priceKey,
} from '../domain/price/price-key.ts'
import type { TokenTable } from '../domain/price/token.ts'
import type { PriceLimit } from '../domain/query.ts'
import type { PriceOrder } from '../domain/source/selection.ts'
import { isJsonObject, parseJson } from '../json/value.ts'
import { groupsOf } from '../listing-index/row-prices.ts'
import type { ItemPrice } from '../wire/price.ts'

/** Which prices of a listing compare: the lowest of its first group counts. `null`: not this one. */
export type Comparison = { per: PricePer; groupOf: (option: PaymentOption) => number | null }

export function comparisonIn(order: PriceOrder): Comparison {
  const groups = groupsOf(order)
  return { per: order.per, groupOf: (option) => groups.get(basisOf(option)) ?? null }
}

export function comparisonWith({ tokens, per }: PriceLimit): Comparison {
  const isCompared = ({ chain, token }: PaymentOption): boolean =>
    tokens.some((one) => one.chain === chain && one.address === token)
  return { per, groupOf: (option) => (isCompared(option) ? 0 : null) }
}

/** The price of a listing that was compared; `undefined` without one. */
export function itemPrice(
  bytes: Uint8Array,
  comparison: Comparison,
  tokens: TokenTable,
): ItemPrice | undefined {
  const listing = parseJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'))
  if (!isJsonObject(listing)) return undefined
  const gpus = gpuCount(listing)
  const compared = comparedOption(paymentOptions(listing), gpus, comparison)
  if (compared === null) return undefined
  const { option, key } = compared
  const known = tokens.find(option.chain, option.token)
  return {
    chain: option.chain,
    token: option.token,
    ...(known && { symbol: known.symbol, decimals: known.decimals }),
    value: String(option.value),
    per: option.per,
    unit: option.unit,
    gpus,
    price_per: comparison.per,
    amount: formatAmount(key, known?.decimals ?? null),
  }
}

function comparedOption(
  options: readonly PaymentOption[],
  gpus: number | null,
  { per, groupOf }: Comparison,
): { option: PaymentOption; key: PriceKey } | null {
  let best: { option: PaymentOption; key: PriceKey; group: number } | null = null
  for (const option of options) {
    const group = groupOf(option)
    const key = group === null ? null : priceKey(option, gpus, per)
    if (group === null || key === null) continue
    const isBetter =
      best === null || group < best.group || (group === best.group && comparePriceKeys(key, best.key) < 0)
    if (isBetter) best = { option, key, group }
  }
  return best
}
