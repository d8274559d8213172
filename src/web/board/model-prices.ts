import type { PaymentOption } from '../../domain/price/payment-option.ts'
import {
  comparePriceKeys,
  formatAmount,
  type PriceKey,
  readableAmount,
} from '../../domain/price/price-key.ts'
import type { TokenTable } from '../../domain/price/token.ts'
import { isTestnet, keyIn, kindOf, moneyName, shortAmount, shownOption, unknownUnits } from './prices.ts'
import type { ListingRow } from './state/listing-row.ts'
import { isSameKind, leadingRow, type MarketPrices } from './state/market-prices.ts'

export type Amount = { text: string; value: number }

/** Least, median and most of one model. */
export type ModelPrices = {
  model: string
  /** The parameter that narrows to it. */
  filter: 'gpu' | 'gpu_model'
  count: number
  amounts: readonly [Amount, Amount, Amount]
}

export type PricedModels = {
  models: readonly ModelPrices[]
  /** Safe text. */
  unit: string
  /** Listings that they are based on; `null` for all that match. */
  basedOn: number | null
}

/** Of the leading token. `null` where no model has a price there, or the gateway gives none by model. */
export function modelsOfMarket(market: MarketPrices): PricedModels | null {
  const leading = leadingRow(market.rows)
  if (leading === undefined) return null
  const { symbol, token = '' } = leading
  const amountOf = (text: string): Amount => amount(text, symbol !== undefined)
  const models = market.models.flatMap(({ value, count, prices = [] }): ModelPrices[] => {
    const row = prices.find((one) => isSameKind(one, leading))
    if (row === undefined) return []
    const amounts = [amountOf(row.least), amountOf(row.median), amountOf(row.most)] as const
    return [{ model: value, filter: 'gpu', count, amounts }]
  })
  if (models.length === 0) return null
  return { models, unit: symbol ?? unknownUnits(token), basedOn: null }
}

/**
 * Of the known token in which most rows have a price per hour, test networks last; `null` without any. Models with most
 * listings first.
 * @param nameOf what rows are grouped by
 */
export function modelsOfRows(
  rows: readonly ListingRow[],
  tokens: TokenTable,
  nameOf = ({ gpu, model }: ListingRow): string | null => gpu ?? model,
): PricedModels | null {
  const priced = rows.flatMap((row) => {
    if (row.isOutlier) return []
    const option = shownOption(row, tokens)
    const key = option?.unit === 'hour' && row.gpus !== null ? keyIn(option, row.gpus, 'gpu', tokens) : null
    const model = nameOf(row)
    const filter = row.gpu === null ? ('gpu_model' as const) : ('gpu' as const)
    return option === null || key === null || model === null ? [] : [{ model, filter, option, key }]
  })
  const isMoney = (option: PaymentOption): boolean =>
    tokens.find(option.chain, option.token) !== null && !isTestnet(option, tokens)
  const byKind = Map.groupBy(priced, ({ option }) => kindOf(option, tokens))
  const [largest = []] = [...byKind.values()].sort(
    (a, b) => Number(isMoney(b[0]!.option)) - Number(isMoney(a[0]!.option)) || b.length - a.length,
  )
  const [first] = largest
  if (first === undefined) return null
  const known = tokens.find(first.option.chain, first.option.token)
  const decimals = known && tokens.decimalsOf(known.symbol)
  const amountOf = (key: PriceKey): Amount => amount(formatAmount(key, decimals), decimals !== null)
  const models = [...Map.groupBy(largest, ({ model }) => model)]
    .sort(([, a], [, b]) => b.length - a.length)
    .map(([model, all]): ModelPrices => {
      const sorted = all.map(({ key }) => key).sort(comparePriceKeys)
      const part = (share: number): Amount => amountOf(sorted[Math.floor((sorted.length - 1) * share)]!)
      return {
        model,
        filter: all[0]!.filter,
        count: all.length,
        amounts: [part(0), part(0.5), part(1)],
      }
    })
  return { models, unit: moneyName(first.option, tokens), basedOn: rows.length }
}

const amount = (exact: string, isKnown: boolean): Amount => ({
  text: shortAmount(readableAmount(exact, isKnown)),
  value: Number(exact),
})
