import { isJsonObject, type JsonValue } from '../../json/value.ts'
import {
  basisOf,
  gpuCount,
  HOURS_PER_WEEK,
  MAX_GPUS,
  type PaymentOption,
  paymentOptions,
  weeklyValue,
} from './payment-option.ts'

export const PRICE_PERS = ['gpu', 'offer', 'gb', 'tflop'] as const
/** Whether a price is of one GPU, of the whole offer, of a GB of GPU memory, or of a dense FP16 TFLOP of the data sheet. */
export type PricePer = (typeof PRICE_PERS)[number]

/** How many of each a whole offer has; `null` where it is not known. */
export type Sizes = Readonly<Record<Exclude<PricePer, 'offer'>, number | null>>
/** @param source the name of the Registry that has the listing */
export type SizesOf = (listing: JsonValue, source: string) => Sizes

/** Without tables of models. */
export const countedSizes: SizesOf = (listing) => ({ gpu: gpuCount(listing), gb: null, tflop: null })

/**
 * A price as an integer that orders exactly as the price does, within a token and a unit. Prices are fractions whose
 * denominators are at most `MAX_GPUS`, so two of them differ by at least 1 / MAX_GPUS²: scaled by that, different
 * prices have different integers. A bigint only beyond 2^53.
 */
export type PriceKey = number | bigint

const SCALE = BigInt(MAX_GPUS * MAX_GPUS)
/** Of a key, per base unit and hour. */
const KEYS_PER_UNIT = SCALE * HOURS_PER_WEEK
const MAX_SAFE = BigInt(Number.MAX_SAFE_INTEGER)

export function priceKey(option: PaymentOption, sizes: Sizes, per: PricePer): PriceKey | null {
  return keyPer(per, toPriceKey(weeklyValue(option) * SCALE), sizes)
}

/** `offer`: of the whole offer, which also an offer without GPUs has. `null` where another size is not known. */
export function keyPer(per: PricePer, offer: PriceKey, sizes: Sizes): PriceKey | null {
  if (per === 'offer') return offer
  const size = sizes[per]
  if (size === null) return per === 'gpu' ? offer : null
  const parts = Math.round(size * SIZE_PARTS)
  if (parts === 0) return null
  // Exact below 2^53 for whole sizes: a quotient that is not whole is further from the next integer than a double can be wrong.
  if (typeof offer === 'number' && Number.isInteger(size)) return Math.floor(offer / size)
  return toPriceKey((BigInt(offer) * BigInt(SIZE_PARTS)) / BigInt(parts))
}

/** Sizes count in thousandths; a smaller one is no size. */
const SIZE_PARTS = 1000

export function comparePriceKeys(a: PriceKey, b: PriceKey): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/**
 * By what the keys of a basis are multiplied so that they compare with those of its symbol on other chains, where a whole token may
 * have more base units.
 */
export type ScaleOf = (basis: string) => bigint

export function scaleKey(key: PriceKey, scale = 1n): PriceKey {
  return scale === 1n ? key : toPriceKey(BigInt(key) * scale)
}

/** The greatest key that is not more than this one when it is multiplied. */
export function unscaleKey(key: PriceKey, scale = 1n): PriceKey {
  return scale === 1n || key === Number.POSITIVE_INFINITY ? key : toPriceKey(BigInt(key) / scale)
}

/** In whole tokens, or in base units for `null` decimals. Rounded up to the token's least unit. */
export function formatAmount(key: PriceKey, decimals: number | null): string {
  const units = (BigInt(key) + KEYS_PER_UNIT - 1n) / KEYS_PER_UNIT
  if (decimals === null || decimals === 0) return String(units)
  const digits = String(units).padStart(decimals + 1, '0')
  const fraction = digits.slice(-decimals).replace(/0+$/, '')
  const whole = digits.slice(0, -decimals)
  return fraction === '' ? whole : `${whole}.${fraction}`
}

const AMOUNT = /^(\d{1,60})(?:\.(\d{1,60}))?$/

/** The key of `2.10` tokens; `null` for what is no amount, or has more than `decimals` decimal places. */
export function parseAmount(text: string, decimals: number): PriceKey | null {
  const [, whole, fraction = ''] = AMOUNT.exec(text) ?? []
  if (whole === undefined || fraction.length > decimals) return null
  return toPriceKey(BigInt(whole + fraction.padEnd(decimals, '0')) * KEYS_PER_UNIT)
}

export function toPriceKey(value: bigint): PriceKey {
  return value <= MAX_SAFE ? Number(value) : value
}

const PLACES = 4
const PLACES_BELOW_ONE = 6

/** `2.1` tokens are `2.10`; more than 4 decimal places are rounded up, more than 6 below 1. Base units have none. */
export function readableAmount(amount: string, isWholeTokens: boolean): string {
  const [whole = '0'] = amount.split('.')
  if (!isWholeTokens) return groupDigits(BigInt(whole))
  return roundUp(amount, whole === '0' ? PLACES_BELOW_ONE : PLACES)
}

const TABLE_DIGITS = 4

/** Of a readable amount, for tables: four digits are enough to compare by, so `1.8025` is `1.803`. Whole tokens keep all of theirs. */
export function shortenAmount(readable: string): string {
  const [whole = '0', fraction] = readable.replaceAll(',', '').split('.')
  if (fraction === undefined) return readable
  const digits = whole === '0' ? -/^0*/.exec(fraction)![0].length : whole.length
  const rounded = roundUp(`${whole}.${fraction}`, Math.max(0, TABLE_DIGITS - digits))
  // 99.995 has a digit more when it is rounded.
  return rounded === readable ? rounded : shortenAmount(rounded)
}

function roundUp(amount: string, places: number): string {
  const [whole = '0', fraction = ''] = amount.split('.')
  const cut = fraction.slice(0, places).padEnd(places, '0')
  const isRounded = /[1-9]/.test(fraction.slice(places))
  const digits = String(BigInt(whole + cut) + (isRounded ? 1n : 0n)).padStart(places + 1, '0')
  const end = digits.length - places
  const decimals = digits.slice(end).replace(/0+$/, '').padEnd(Math.min(2, places), '0')
  return `${groupDigits(BigInt(digits.slice(0, end)))}${decimals && `.${decimals}`}`
}

const UNIT_NAMES = { gpu: 'GPU', gb: 'GB', tflop: 'TFLOP' } as const

/** `GPU·h`, `GB·h`, `h`, `GPU·credit`, `credit`; any other unit as published. The deployed protocol counts credits in tokens. */
export function unitName(unit: string, per: PricePer): string {
  const name = unit === 'hour' ? 'h' : unit === 'token' ? 'credit' : unit
  return per === 'offer' ? name : `${UNIT_NAMES[per]}·${name}`
}

function groupDigits(value: bigint): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',')
}

export type LowestPrice = {
  key: PriceKey
  option: PaymentOption
  gpus: number | null
  /** `offer` also for the price per GPU of an offer without GPUs. */
  per: PricePer
}

/** A listing's lowest price in each basis (`basisOf`); the first of equal ones. */
export function lowestPrices(listing: JsonValue, per: PricePer, sizes: Sizes): Map<string, LowestPrice> {
  const prices = new Map<string, LowestPrice>()
  if (!isJsonObject(listing)) return prices
  const { gpu: gpus } = sizes
  const hasGpus = gpus !== null
  for (const option of paymentOptions(listing)) {
    const key = priceKey(option, sizes, per)
    if (key === null) continue
    const basis = basisOf({ ...option, hasGpus })
    const lowest = prices.get(basis)
    if (lowest === undefined || comparePriceKeys(key, lowest.key) < 0)
      prices.set(basis, { key, option, gpus, per: hasGpus || per !== 'gpu' ? per : 'offer' })
  }
  return prices
}
