import { useMemo, useRef } from 'preact/hooks'
import {
  comparePriceKeys,
  formatAmount,
  type PriceKey,
  priceKey,
  readableAmount,
} from '../../domain/price/price-key.ts'
import type { TokenTable } from '../../domain/price/token.ts'
import { untrustedText } from '../common/untrusted-text.ts'
import { html } from '../html.ts'
import { Narrow, type Navigation } from './navigation.ts'
import { shortAmount, shownOption, tokenName } from './prices.ts'
import type { ListingRow } from './state/listing-row.ts'
import type { Listings } from './state/listings.ts'

type PricePlotProps = { listings: Listings; tokens: TokenTable; navigation: Navigation }

/** Price per GPU-hour by model: a table whose last column is drawn on one logarithmic axis. */
export function PricePlot({ listings, tokens, navigation }: PricePlotProps) {
  const { total, isTotalExact, isWhole, phase, loadUntil } = listings
  // The plot is not drawn again for each page that arrives.
  const settled = useRef(listings.rows)
  if (phase !== 'loading') settled.current = listings.rows
  const rows = settled.current
  const plot = useMemo(() => plotOf(rows, tokens), [rows, tokens])
  if (plot === null) return null
  const count = rows.length.toLocaleString('en')
  const all = `${isTotalExact ? '' : 'at most '}${(total ?? 0).toLocaleString('en')}`
  return html`<details class="plot" open>
    <summary><h2>Prices by GPU model</h2></summary>
    <p class="hint">
      ${plot.unit} per GPU-hour. ${isWhole ? `All ${count} listings.` : `Based on ${count} of ${all} listings.`}
      ${!isWhole && html` <button type="button" class="quiet" onClick=${() => loadUntil(Number.MAX_SAFE_INTEGER)}>Load all for the prices</button>`}
    </p>
    <table class="prices box">
      <thead>
        <tr>
          <th scope="col">GPU model</th>
          ${['Listings', 'Least', 'Median', 'Most'].map((title) => html`<th scope="col" class="number">${title}</th>`)}
          <th scope="col" class="drawn"><${Axis} plot=${plot} /></th>
        </tr>
      </thead>
      <tbody>
        ${plot.models.map((prices) => html`<${ModelRow} key=${prices.model} ...${{ prices, plot, navigation }} />`)}
      </tbody>
    </table>
  </details>`
}

const Axis = ({ plot: { unit, ticks } }: { plot: Plot }) =>
  html`<svg class="axis" width="100%" height="16" role="img" aria-label=${`${unit} per GPU-hour, on a logarithmic scale`}>
    ${ticks.map(({ text, at }) => html`<text x=${`${at}%`} y="12" text-anchor="middle">${text}</text>`)}
  </svg>`

type ModelRowProps = { prices: ModelPrices; plot: Plot; navigation: Navigation }

function ModelRow({ prices, plot: { positionOf, ticks }, navigation }: ModelRowProps) {
  const { model, count, amounts } = prices
  const [least, low, median, high, most] = amounts
  const texts = [count.toLocaleString('en'), least.text, median.text, most.text]
  const line = (name: string, from: string, to: string) =>
    html`<line class=${name} x1=${from} x2=${to} y1="9" y2="9" />`
  const [start, lowAt, medianAt, highAt, end] = amounts.map((amount) => `${positionOf(amount)}%`)
  return html`<tr>
    <th scope="row"><${Narrow} ...${{ navigation, name: 'gpu_model', value: model }} /></th>
    ${texts.map((text) => html`<td class="number">${text}</td>`)}
    <td class="drawn">
      <svg width="100%" height="18" aria-hidden="true">
        <title>${`${untrustedText(model)}: ${least.text} to ${most.text}, half of them from ${low.text} to ${high.text}, median ${median.text}`}</title>
        ${ticks.map(({ at }) => html`<line class="grid" x1=${`${at}%`} x2=${`${at}%`} y1="0" y2="18" />`)}
        ${line('span', start!, end!)} ${line('half', lowAt!, highAt!)}
        <circle class="median" cx=${medianAt} cy="9" r="4.5" />
      </svg>
    </td>
  </tr>`
}

const MAX_MODELS = 24

type Amount = { text: string; value: number }
/** `amounts`: least, first quartile, median, third quartile and most. */
type ModelPrices = { model: string; count: number; amounts: [Amount, Amount, Amount, Amount, Amount] }
type Plot = {
  models: readonly ModelPrices[]
  /** Safe text. */
  unit: string
  /** In per cent of the width. */
  positionOf: (amount: Amount) => number
  ticks: readonly { text: string; at: number }[]
}

/** Of the token in which most rows have a price per hour; `null` without any. Models with most listings first. */
function plotOf(rows: readonly ListingRow[], tokens: TokenTable): Plot | null {
  const priced = rows.flatMap((row) => {
    const option = shownOption(row, tokens)
    const key = option?.unit === 'hour' ? priceKey(option, row.gpus, 'gpu') : null
    return option === null || key === null || row.model === null ? [] : [{ model: row.model, option, key }]
  })
  const byToken = Map.groupBy(
    priced,
    ({ option: { chain, token } }) => tokens.find(chain, token)?.symbol ?? `${chain} ${token}`,
  )
  const [largest = []] = [...byToken.values()].sort((a, b) => b.length - a.length)
  const [first] = largest
  if (first === undefined) return null
  const decimals = tokens.find(first.option.chain, first.option.token)?.decimals ?? null
  const amountOf = (key: PriceKey): Amount => {
    const exact = formatAmount(key, decimals)
    return { text: shortAmount(readableAmount(exact, decimals !== null)), value: Number(exact) }
  }
  const models = [...Map.groupBy(largest, ({ model }) => model)]
    .sort(([, a], [, b]) => b.length - a.length)
    .slice(0, MAX_MODELS)
    .map(([model, all]): ModelPrices => {
      const sorted = all.map(({ key }) => key).sort(comparePriceKeys)
      const part = (share: number): Amount => amountOf(sorted[Math.floor((sorted.length - 1) * share)]!)
      return { model, count: all.length, amounts: [part(0), part(0.25), part(0.5), part(0.75), part(1)] }
    })
  const values = models
    .flatMap(({ amounts }) => [amounts[0].value, amounts[4].value])
    .filter((value) => value > 0)
  if (values.length === 0) return null
  return {
    models,
    unit: tokenName(first.option, tokens),
    ...scaleOf(Math.min(...values), Math.max(...values)),
  }
}

/** Logarithmic, between round numbers: 1, 2 and 5 times the powers of ten. A free offer is at its left end. */
function scaleOf(least: number, most: number): Pick<Plot, 'positionOf' | 'ticks'> {
  const [low, high] = [Math.floor(Math.log10(least)), Math.ceil(Math.log10(most))]
  const round = Array.from({ length: high - low + 1 }, (_, n) =>
    [1, 2, 5].map((factor) => Number(`${factor}e${low + n}`)),
  ).flat()
  const first = round.findLast((value) => value <= least) ?? least
  const last = round.find((value) => value >= most && value > first) ?? most
  const steps = round.filter((value) => value >= first && value <= last)
  const [from, to] = [Math.log10(first), Math.log10(last)]
  const place = (value: number): number => {
    const share = value <= 0 ? 0 : (Math.log10(value) - from) / (to - from)
    return MARGIN + share * (100 - 2 * MARGIN)
  }
  const tickValues =
    steps.length <= MAX_TICKS ? steps : steps.filter((value) => Number.isInteger(Math.log10(value)))
  const every = Math.ceil(tickValues.length / MAX_TICKS)
  return {
    positionOf: ({ value }) => place(value),
    ticks: tickValues
      .filter((_, n) => n % every === 0)
      .map((value) => ({ text: tickText(value), at: place(value) })),
  }
}

const MARGIN = 6
const MAX_TICKS = 6

const tickText = (value: number): string =>
  value < 1e-4 || value >= 1e15
    ? value.toExponential(0)
    : value < 1000
      ? String(value)
      : COMPACT.format(value)

const COMPACT = new Intl.NumberFormat('en', { notation: 'compact' })
