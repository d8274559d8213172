import { basisOf, type PaymentOption } from '../../domain/price/payment-option.ts'
import {
  comparePriceKeys,
  formatAmount,
  type PriceKey,
  type PricePer,
  priceKey,
  readableAmount,
  type Sizes,
  scaleKey,
  shortenAmount,
  unitName,
} from '../../domain/price/price-key.ts'
import type { Token, TokenTable } from '../../domain/price/token.ts'
import { shortAddress, untrustedText } from '../common/untrusted-text.ts'
import { html } from '../html.ts'
import type { ListingRow } from './state/listing-row.ts'

/** Of the options, the one that the gateway compared; else the lowest in the first token that the gateway knows. */
export function shownOption(
  { options, compared, gpus }: ListingRow,
  tokens: TokenTable,
): PaymentOption | null {
  const inKnownTokens = options.filter(({ chain, token }) => tokens.find(chain, token) !== null)
  const inMoney = inKnownTokens.filter((one) => !isTestnet(one, tokens))
  const candidates = [inMoney, inKnownTokens, options].find((some) => some.length > 0) ?? []
  const [first] = candidates
  if (compared !== null || first === undefined) return compared
  const comparable = candidates.filter((one) => kindOf(one, tokens) === kindOf(first, tokens))
  const keyOf = (one: PaymentOption): PriceKey => keyIn(one, gpus, 'offer', tokens)!
  return comparable.reduce((best, one) => (comparePriceKeys(keyOf(one), keyOf(best)) < 0 ? one : best))
}

const ofGpus = (gpus: number | null): Sizes => ({ gpu: gpus, gb: null, tflop: null })

/** Keys compare within a symbol, which may have other decimals on another chain. */
export function keyIn(
  option: PaymentOption,
  gpus: number | null,
  per: PricePer,
  { scaleOf }: TokenTable,
): PriceKey | null {
  const key = priceKey(option, ofGpus(gpus), per)
  return key && scaleKey(key, scaleOf?.(basisOf({ ...option, hasGpus: gpus !== null })))
}

/** Whether the token is worth nothing. */
export function isTestnet({ chain, token }: PaymentOption, tokens: TokenTable): boolean {
  const known: (Token & { testnet?: boolean }) | null = tokens.find(chain, token)
  return known?.testnet === true
}

export const TestChip = () =>
  html`<span class="flag" title="Tokens of a test network are worth nothing">test network</span>`

export const OutlierChip = () =>
  html`<span class="flag" title="Below 1 % of the median of its model: probably not what the seller means. It does not count as the lowest price.">far below the median</span>`

/** Options of one kind compare: tokens by symbol over all chains, those of test networks by themselves. */
export function kindOf(option: PaymentOption, tokens: TokenTable): string {
  const { chain, token, unit } = option
  const symbol = tokens.find(chain, token)?.symbol ?? `${chain} ${token}`
  return `${isTestnet(option, tokens) ? 'test ' : ''}${symbol} ${unit}`
}

/** `2.10`, or base units of a token that the gateway does not know. `null` for a count of GPUs that is not valid. */
export function amountOf(
  option: PaymentOption,
  gpus: number | null,
  per: PricePer,
  tokens: TokenTable,
): string | null {
  if (per === 'gpu' && gpus === null) return null
  const key = priceKey(option, ofGpus(gpus), per)
  if (key === null) return null
  const decimals = tokens.find(option.chain, option.token)?.decimals ?? null
  return readableAmount(formatAmount(key, decimals), decimals !== null)
}

/** Four digits, but where a hostile amount of 78 would push all else away; its title has the digits. */
export const shortAmount = (amount: string): string =>
  amount.length <= MAX_AMOUNT_CHARS
    ? shortenAmount(amount)
    : `≈ ${Number(amount.replaceAll(',', '')).toExponential(2)}`

const MAX_AMOUNT_CHARS = 24

type PaidToken = Pick<PaymentOption, 'chain' | 'token'>

/** `USDC`, or `unknown token 0x036c…cf7e`. Safe text. */
export const tokenName = ({ chain, token }: PaidToken, tokens: TokenTable): string =>
  tokens.find(chain, token)?.symbol ?? unknownToken(token)

/** What an amount is in: `USDC`, or `units of unknown token 0x036c…cf7e`. Safe text. */
export const moneyName = ({ chain, token }: PaidToken, tokens: TokenTable, amount = ''): string =>
  tokens.find(chain, token)?.symbol ?? unknownUnits(token, amount)

export const unknownUnits = (token: string, amount = ''): string =>
  `${unitsWord(amount)} of ${unknownToken(token)}`

/** Of a token whose decimals are not known. */
export const unitsWord = (amount: string): string => (amount === '1' ? 'unit' : 'units')

const unknownToken = (token: string): string => `unknown token ${shortAddress(token)}`

/** `Base Sepolia` for `base_sepolia`. Safe text. */
export const chainName = (chain: string): string =>
  untrustedText(
    chain.replaceAll('_', ' ').replace(/(^| )[a-z]/g, (letter) => letter.toUpperCase()),
    MAX_UNIT_CHARS,
  )

/** `GPU·h`, `h`, `credit`. Safe text. */
export const safeUnit = (unit: string, per: PricePer): string =>
  untrustedText(unitName(unit, per), MAX_UNIT_CHARS)

const MAX_UNIT_CHARS = 24
