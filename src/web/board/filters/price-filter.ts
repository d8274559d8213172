import { parseAmount } from '../../../domain/price/price-key.ts'
import type { TokenTable } from '../../../domain/price/token.ts'
import { SelectBox } from '../../common/select-box.ts'
import { html } from '../../html.ts'
import { chainName } from '../prices.ts'
import type { PriceRow } from '../state/market-prices.ts'
import { parameterOf, type Query, withValues } from '../view.ts'
import { Field } from './field.ts'

type PriceFilterProps = {
  query: Query
  tokens: TokenTable
  prices: readonly PriceRow[]
  hasGpus: boolean
  refusal: string | null
  onChange: (query: Query) => void
}

export function PriceFilter({ query, tokens, prices, hasGpus, refusal, onChange }: PriceFilterProps) {
  const options = tokenOptions(tokens, prices)
  const token = parameterOf(query, 'price_token')
  const [first] = options
  if (first === undefined) return null
  const set = (values: Readonly<Record<string, string | null>>): void => onChange(withValues(query, values))
  const hasMax = parameterOf(query, 'price_max') !== null
  const chooseToken = (value: string): void => {
    if (value === '') set({ price_token: null, price_max: null })
    else set({ ...(!hasMax && { sort: 'price' }), price_token: value })
  }
  return html`<fieldset class="filter stack" id="filter-price">
    <legend>Price, at most</legend>
    <div class="range ceiling">
      <${Field}
        id="price-max"
        label="Price, at most"
        value=${parameterOf(query, 'price_max') ?? ''}
        placeholder="2.10"
        refusal=${refusal}
        isNumeric
        faultOf=${(text: string) => faultInAmount(text, token ?? first.value, tokens)}
        onChange=${(text: string) => set(text === '' ? { price_max: null } : { price_max: text, price_token: token ?? first.value })}
      />
      <${SelectBox}
        label="Token of prices"
        value=${token ?? ''}
        options=${[['', 'any token'], ...options.map(({ value, text }) => [value, text])]}
        onChange=${chooseToken}
      />
    </div>
    ${
      hasGpus &&
      (parameterOf(query, 'sort') === 'price' || hasMax) &&
      html`<${SelectBox}
        label="Price per"
        value=${parameterOf(query, 'price_per') ?? 'gpu'}
        options=${PER_OPTIONS}
        onChange=${(value: string) => set({ price_per: value === 'gpu' ? null : value })}
      />`
    }
  </fieldset>`
}

const PER_OPTIONS = [
  ['gpu', 'per GPU-hour'],
  ['offer', 'per hour, whole offer'],
  ['gb', 'per hour and GB of GPU memory'],
  ['tflop', 'per hour and FP16 TFLOP (data sheet)'],
] as const

/** The symbol with most offers, in which prices of several chains are one order. */
export const defaultToken = (tokens: TokenTable, prices: readonly PriceRow[]): string | null =>
  tokenOptions(tokens, prices)[0]?.value ?? null

type TokenOption = { value: string; text: string }

/** Each symbol, and its chains where it has offers on several; those with most offers first. */
function tokenOptions(tokens: TokenTable, prices: readonly PriceRow[]): TokenOption[] {
  const priced = prices.filter(({ symbol }) => symbol !== undefined)
  const symbols = new Set([...priced, ...tokens.all].map(({ symbol }) => symbol!))
  return [...symbols].flatMap((symbol) => {
    const chains = new Set(
      priced.filter((one) => one.symbol === symbol).flatMap(({ chains }) => chains.map(({ chain }) => chain)),
    )
    const onChains = [...chains].map((chain) => ({
      value: `${chain}:${symbol}`,
      text: `${symbol} on ${chainName(chain)}`,
    }))
    return [{ value: symbol, text: symbol }, ...(chains.size > 1 ? onChains : [])]
  })
}

function faultInAmount(text: string, token: string, tokens: TokenTable): string | null {
  if (text === '') return null
  const symbol = token.slice(token.indexOf(':') + 1)
  const decimals = tokens.all.find((one) => one.symbol === symbol || one.address === symbol)?.decimals ?? 0
  return parseAmount(text, decimals) === null
    ? `Enter an amount, such as 2.10 (at most ${decimals} decimal places).`
    : null
}
