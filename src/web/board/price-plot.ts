import { useMemo, useRef, useState } from 'preact/hooks'
import { plural } from '../../domain/plural.ts'
import type { TokenTable } from '../../domain/price/token.ts'
import { untrustedText } from '../common/untrusted-text.ts'
import { html } from '../html.ts'
import { readChoices } from './filters/controls.ts'
import {
  type Amount,
  type ModelPrices,
  modelsOfMarket,
  modelsOfRows,
  type PricedModels,
} from './model-prices.ts'
import { Narrow, type Navigation } from './navigation.ts'
import type { FacetCounts } from './state/facets.ts'
import type { Listings } from './state/listings.ts'
import { MAX_ROWS } from './state/page-loader.ts'
import { parameterOf } from './view.ts'

type PricePlotProps = {
  facets: FacetCounts
  listings: Listings
  tokens: TokenTable
  navigation: Navigation
}

/** Price per GPU-hour by model: a table whose last column is drawn on one logarithmic axis. */
export function PricePlot({ facets, listings, tokens, navigation }: PricePlotProps) {
  const [isLong, setLong] = useState(false)
  // The plot is not drawn again for each page that arrives.
  const settled = useRef(listings.rows)
  if (listings.phase !== 'loading') settled.current = listings.rows
  const rows = settled.current
  const priced = useMemo(
    () => modelsOfMarket(facets.market) ?? modelsOfRows(rows, tokens),
    [facets.market, rows, tokens],
  )
  const scale = priced && scaleOfModels(priced.models)
  if (priced === null || scale === null) return null
  const { models, unit } = priced
  const value = parameterOf(navigation.view.query, 'gpu')
  const chosen = value === null ? [] : readChoices(value)
  const shown = models
    .toSorted((a, b) => Number(chosen.includes(b.model)) - Number(chosen.includes(a.model)))
    .slice(0, isLong ? MAX_MODELS : SHORT_LENGTH)
  const { unknownModels } = facets.market
  const decimals = Math.max(...shown.flatMap(({ amounts }) => amounts.map(({ text }) => decimalsIn(text))))
  return html`<details class="plot" open=${WIDE.matches}>
    <summary><h2>Prices by GPU model</h2> <span class="hint">${unit} per GPU-hour<${Basis} ...${{ priced, listings }} />${leftOut(facets.market.outliers)}</span></summary>
    <table class="prices box">
      <thead>
        <tr>
          <th scope="col">GPU model</th>
          ${['Listings', 'Lowest', 'Median', 'Highest'].map((title) => html`<th scope="col" class="number">${title}</th>`)}
          <th scope="col" class="drawn"><${Axis} ...${{ unit, scale }} /></th>
        </tr>
      </thead>
      <tbody>
        ${shown.map((prices) => html`<${ModelRow} key=${prices.model} ...${{ prices, scale, navigation, decimals }} isChosen=${chosen.includes(prices.model)} />`)}
        ${unknownModels > 0 && chosen.length === 0 && shown.length === models.length && html`<tr><th scope="row" class="hint">not stated</th><td class="number">${unknownModels.toLocaleString('en')}</td><td colspan="4"></td></tr>`}
      </tbody>
    </table>
    ${models.length > SHORT_LENGTH && html`<button type="button" class="quiet" aria-expanded=${isLong} onClick=${() => setLong(!isLong)}>${isLong ? 'Show fewer models' : `Show all ${models.length} models`}</button>`}
  </details>`
}

const leftOut = (outliers: number): string =>
  outliers === 0 ? '' : `, without ${plural(outliers, 'price')} far below the median`

/** Where the prices are of loaded listings only. */
function Basis({ priced: { basedOn }, listings }: { priced: PricedModels; listings: Listings }) {
  const { total, isWhole, rows, loadUntil } = listings
  if (basedOn === null || isWhole) return null
  const all = (total ?? 0).toLocaleString('en')
  return html`, of ${basedOn.toLocaleString('en')} of ${all} listings
    ${rows.length < MAX_ROWS && html` <button type="button" class="quiet" onClick=${() => loadUntil(MAX_ROWS)}>Use all ${all}</button>`}`
}

const WIDE = matchMedia('(min-width: 50rem)')
/** The listings begin in the upper half of a screen. */
const SHORT_LENGTH = 3
const MAX_MODELS = 100

const Axis = ({ unit, scale: { ticks } }: { unit: string; scale: Scale }) =>
  html`<svg class="axis" width="100%" height="16" role="img" aria-label=${`${unit} per GPU-hour, on a logarithmic scale`}>
    ${ticks.map(({ text, at }) => html`<text x=${`${at}%`} y="12" text-anchor="middle">${text}</text>`)}
  </svg>`

const decimalsIn = (amount: string): number => amount.split('.')[1]?.length ?? 0

/** Amounts below each other are aligned at the point. */
const aligned = (amount: string, decimals: number): string =>
  amount.includes('.') ? amount + '\u2007'.repeat(decimals - decimalsIn(amount)) : amount

type ModelRowProps = {
  prices: ModelPrices
  scale: Scale
  navigation: Navigation
  isChosen: boolean
  /** Most decimals of an amount in the table. */
  decimals: number
}

function ModelRow({ prices, scale: { positionOf, ticks }, navigation, isChosen, decimals }: ModelRowProps) {
  const { model, filter, count, amounts } = prices
  const [least, median, most] = amounts
  const texts = [count.toLocaleString('en'), ...amounts.map(({ text }) => aligned(text, decimals))]
  const [start, medianAt, end] = amounts.map((amount) => `${positionOf(amount)}%`)
  return html`<tr class=${isChosen && 'chosen'}>
    <th scope="row"><${Narrow} ...${{ navigation, name: filter, value: model }} /></th>
    ${texts.map((text) => html`<td class="number">${text}</td>`)}
    <td class="drawn">
      <svg width="100%" height="18" aria-hidden="true">
        <title>${`${untrustedText(model)}: ${least.text} to ${most.text}, median ${median.text}`}</title>
        ${ticks.map(({ at }) => html`<line class="grid" x1=${`${at}%`} x2=${`${at}%`} y1="0" y2="18" />`)}
        <line class="span" x1=${start} x2=${end} y1="9" y2="9" />
        <circle class="median" cx=${medianAt} cy="9" r="4.5" />
      </svg>
    </td>
  </tr>`
}

type Scale = {
  /** In per cent of the width. */
  positionOf: (amount: Amount) => number
  ticks: readonly { text: string; at: number }[]
}

/** `null` where nothing has a price above 0. */
function scaleOfModels(models: readonly ModelPrices[]): Scale | null {
  const values = models
    .flatMap(({ amounts: [least, , most] }) => [least.value, most.value])
    .filter((value) => value > 0)
  return values.length === 0 ? null : scaleOf(Math.min(...values), Math.max(...values))
}

/** Logarithmic, between round numbers: 1, 2 and 5 times the powers of ten. A free offer is at its left end. */
function scaleOf(least: number, most: number): Scale {
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
