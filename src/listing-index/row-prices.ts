import { lowestPrices } from '../domain/price/lowest-prices.ts'
import { gpuCount, parseBasis } from '../domain/price/payment-option.ts'
import { comparePriceKeys, type PriceKey, type PricePer, priceKey } from '../domain/price/price-key.ts'
import type { PriceLimit } from '../domain/query.ts'
import type { PriceOrder } from '../domain/source/selection.ts'
import { isJsonObject, parseJson } from '../json/value.ts'

/** The lowest price of a listing in one basis. `gpu` is `null` where the number of GPUs is invalid. */
export type RowPrice = { basis: string } & Record<PricePer, PriceKey | null>

/** Of one listing; each basis once. `gpus` is `null` for an invalid count. */
export type RowPrices = { gpus: number | null; prices: readonly RowPrice[] }

export function rowPrices(bytes: Uint8Array): RowPrices {
  const document = parseJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString())
  const gpus = isJsonObject(document) ? gpuCount(document) : null
  const prices = Array.from(lowestPrices(document, 'offer'), ([basis, { key, option }]) => ({
    basis,
    offer: key,
    gpu: priceKey(option, gpus, 'gpu'),
  }))
  return { gpus, prices }
}

export function isWithin({ prices }: RowPrices, { tokens, per, max }: PriceLimit): boolean {
  return prices.some(({ basis, [per]: key }) => {
    const { chain, token } = parseBasis(basis)
    return key !== null && key <= max && tokens.some((one) => one.chain === chain && one.address === token)
  })
}

/** Where a row with these prices is in an order: behind all groups without a price in one. */
export function placeIn(
  { prices }: RowPrices,
  { per, groupOf, groups }: { per: PricePer; groupOf: ReadonlyMap<string, number>; groups: number },
): { group: number; key: PriceKey } {
  let best: { group: number; key: PriceKey } = { group: groups, key: 0 }
  for (const { basis, [per]: key } of prices) {
    const group = groupOf.get(basis)
    if (group === undefined || key === null) continue
    if (group < best.group || (group === best.group && comparePriceKeys(key, best.key) < 0))
      best = { group, key }
  }
  return best
}

/** The group of each basis; the first for a basis in several. */
export function groupsOf({ groups }: PriceOrder): Map<string, number> {
  const groupOf = new Map<string, number>()
  for (const [n, bases] of groups.entries())
    for (const basis of bases) if (!groupOf.has(basis)) groupOf.set(basis, n)
  return groupOf
}
