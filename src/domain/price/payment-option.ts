import { at, isJsonObject, type JsonObject, type JsonValue } from '../../json/value.ts'

/** One rate of one accepted escrow, or of one settlement option. */
export type PaymentOption = {
  /** Of an escrow; of a settlement option its mechanism. */
  chain: string
  /** Lower-case address; of a settlement option its asset. */
  token: string
  /** Base units of the token per `per`, at most a uint256. */
  value: bigint
  /** As published. */
  per: string
  /** `hour` for every unit of time, else `per`. Prices compare within a token and a unit. */
  unit: string
}

/** Further options of a listing are ignored. */
const MAX_OPTIONS = 32
export const MAX_GPUS = 1024
const MAX_UINT256 = 2n ** 256n - 1n
const MAX_NAME_LENGTH = 128
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/

/** How many of a unit are in a week, which every unit of time divides. */
const PER_WEEK: Readonly<Record<string, bigint>> = {
  second: 604_800n,
  minute: 10_080n,
  hour: 168n,
  day: 7n,
  week: 1n,
}

export const TIME_UNITS = Object.keys(PER_WEEK)

/** The options in the order of the listing; a malformed one is dropped. */
export function paymentOptions(listing: JsonObject): PaymentOption[] {
  const options: PaymentOption[] = []
  for (const { chain, token, rates } of paymentTerms(listing))
    for (const rate of rates) {
      const [field, value, per] = [at(rate, 'field'), at(rate, 'value'), at(rate, 'per')]
      const option = paymentOption({ chain, token, field, value, per })
      if (option !== null && options.length < MAX_OPTIONS) options.push(option)
    }
  return options
}

type PaymentTerms = {
  chain: JsonValue
  token: JsonValue
  /** `null` for a settlement option. */
  escrow: JsonValue
  rates: readonly JsonValue[]
}

/** As published, escrows first: what a listing can be paid with, and at which rates. */
export const paymentTerms = (listing: JsonValue): readonly PaymentTerms[] => [
  ...elements(at(listing, 'accepted_escrows')).map((escrow) => ({
    chain: at(escrow, 'chain_name'),
    token: at(escrow, 'literal_fields', 'token'),
    escrow: at(escrow, 'escrow_address'),
    rates: elements(at(escrow, 'rates')),
  })),
  ...elements(at(listing, 'settlement_options')).map((option) => ({
    chain: at(option, 'mechanism'),
    token: at(option, 'asset'),
    escrow: null,
    rates: elements(at(option, 'rates')),
  })),
]

/** Whether a listing states a price, readable or not. */
export const hasRates = (listing: JsonValue): boolean =>
  paymentTerms(listing).some(({ rates }) => rates.length > 0)

/** `null` for what is no price: another field, a sign, a decimal point, more than a uint256, no token. */
function paymentOption(published: Record<string, unknown>): PaymentOption | null {
  const { chain, token, field, value, per } = published
  if (field !== null && field !== undefined && field !== 'amount') return null
  if (!isName(chain) || !isName(token) || !isName(per)) return null
  const amount = integerOf(value)
  if (amount === null || amount > MAX_UINT256) return null
  const unit = Object.hasOwn(PER_WEEK, per) ? 'hour' : per
  return { chain, token: token.toLowerCase(), value: amount, per, unit }
}

/** What compares: options of one chain, token and unit, and apart those of offers without a count of GPUs. */
type Basis = Pick<PaymentOption, 'chain' | 'token' | 'unit'> & { hasGpus: boolean }

/** Options of one basis compare. */
export function basisOf({ chain, token, unit, hasGpus }: Basis): string {
  return `${chain}\n${token}\n${unit}${hasGpus ? '' : '\noffer'}`
}

export function parseBasis(basis: string): Basis {
  const [chain = '', token = '', unit = '', whole = ''] = basis.split('\n')
  return { chain, token, unit, hasGpus: whole === '' }
}

/** `null` where the listing does not say, and for what is no count from 1 to `MAX_GPUS`. */
export function gpuCount(listing: JsonValue): number | null {
  const count = at(listing, 'offer_resource', 'gpu_count')
  return Number.isInteger(count) && (count as number) >= 1 && (count as number) <= MAX_GPUS
    ? (count as number)
    : null
}

/**
 * Whether prices per this unit make a group of an order by price, and are shown in facets: up to 32 letters, digits and
 * `_.-` after a letter. Sellers choose units, and long ones would take the room of the others.
 */
export function isUnitWord(unit: string): boolean {
  return /^[a-z][\w.-]{0,31}$/i.test(unit)
}

/** Exact: base units times how many of `per` are in a week. */
export function weeklyValue({ value, per }: Pick<PaymentOption, 'value' | 'per'>): bigint {
  return value * (Object.hasOwn(PER_WEEK, per) ? PER_WEEK[per]! : HOURS_PER_WEEK)
}

export const HOURS_PER_WEEK = 168n

function elements(value: JsonValue): readonly JsonValue[] {
  if (Array.isArray(value)) return value
  return isJsonObject(value) ? [value] : []
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_NAME_LENGTH && !CONTROL.test(value)
}

function integerOf(value: unknown): bigint | null {
  if (typeof value === 'string') return /^\d{1,78}$/.test(value) ? BigInt(value) : null
  if (typeof value === 'bigint') return value >= 0n ? value : null
  return Number.isInteger(value) && (value as number) >= 0 ? BigInt(value as number) : null
}
