import {
  countedSizes,
  formatAmount,
  type LowestPrice,
  lowestPrices,
  PRICE_PERS,
  type PriceKey,
  type PricePer,
  readableAmount,
  shortenAmount,
  unitName,
} from '../../domain/price/price-key.ts'
import type { TokenTable } from '../../domain/price/token.ts'
import { at, type JsonObject, textAt } from '../../json/value.ts'

type ShownPrice = {
  amount: string
  /** `null`: the amount is in base units. */
  symbol: string | null
  token: string
  unit: string
  per: PricePer
  /** Of a test network: worth nothing. */
  testnet?: boolean
}

/** Holds texts of a seller, which the caller has to escape. */
export function priceText(price: ShownPrice): string {
  const basis = price.amount === '1' ? priceBasis(price).replace(/^units/, 'unit') : priceBasis(price)
  return `${readableAmount(price.amount, price.symbol !== null)} ${basis}`
}

/** For a column whose head says the basis of most prices. */
export const priceCell = (price: ShownPrice, basisOfMost: string | null): string =>
  `${shortenAmount(readableAmount(price.amount, price.symbol !== null))}${priceBasis(price) === basisOfMost ? '' : ` ${priceBasis(price)}`}`

/** Of prices in a known token; `null` without any. */
export function basisOfMost(prices: readonly (ShownPrice | null)[]): string | null {
  const known = prices.flatMap((price) => (price === null || price.symbol === null ? [] : priceBasis(price)))
  const [most = [null]] = [...Map.groupBy(known, (basis) => basis)].sort(
    ([, a], [, b]) => b.length - a.length,
  )
  return most[0]
}

/** `USDC/GPU·h`, `test USDC/GPU·h`. */
export const priceBasis = ({ symbol, token, unit, per, testnet }: Omit<ShownPrice, 'amount'>): string =>
  `${testnet ? 'test ' : ''}${symbol ?? `units of ${abbreviateAddress(token)}`}/${unitName(unit, per)}`

/** The price that was compared, or else the first in a token that is known. */
export function shownPrice(listing: JsonObject, tokens: TokenTable): ShownPrice | null {
  const compared = at(listing, '_meta', 'price')
  const amount = textAt(compared, 'amount')
  if (amount !== null)
    return {
      amount,
      symbol: textAt(compared, 'symbol'),
      token: textAt(compared, 'token') ?? '',
      unit: textAt(compared, 'unit') ?? '',
      testnet: at(compared, 'testnet') === true,
      per: PRICE_PERS.find((per) => per === textAt(compared, 'price_per')) ?? 'gpu',
    }
  const prices = allPrices(listing, tokens)
  const isMoney = ({ symbol, testnet }: ShownPrice): boolean => symbol !== null && testnet !== true
  return prices.find(isMoney) ?? prices.find(({ symbol }) => symbol !== null) ?? prices[0] ?? null
}

/** Whether that price is too low to be meant. */
export const isOutlier = (listing: JsonObject): boolean => at(listing, '_meta', 'price', 'outlier') === true

/** Of one GPU; of the whole offer where the number of GPUs is unknown. */
export function allPrices(listing: JsonObject, tokens: TokenTable): (ShownPrice & { key: PriceKey })[] {
  return [...lowestPrices(listing, 'gpu', countedSizes(listing, '')).values()].map((price) => ({
    key: price.key,
    ...withToken(price, tokens),
  }))
}

function withToken({ key, option, per }: LowestPrice, tokens: TokenTable): ShownPrice {
  const { chain, token, unit } = option
  const entry = tokens.find(chain, token)
  return {
    amount: formatAmount(key, entry?.decimals ?? null),
    symbol: entry?.symbol ?? null,
    token,
    unit,
    per,
    testnet: entry?.testnet === true,
  }
}

/** `0x8335…2913`, `ed25519:A6EH…VMbg`; any other text as it is. */
export const abbreviateAddress = (text: string): string =>
  text.replace(/^(0x[0-9a-f]{4})[0-9a-f]{32}([0-9a-f]{4})$|^(ed25519:.{4}).{35}(.{4})$/i, '$1$3…$2$4')
