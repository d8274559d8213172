import { useMemo, useState } from 'preact/hooks'
import { groupDigits } from '../../../domain/price.ts'
import { type ScrollColumn, ScrollTable } from '../../common/scroll-table.ts'
import { shortAddress, untrustedText } from '../../common/untrusted-text.ts'
import { html } from '../../html.ts'
import type { ListingRow } from '../data/listing-row.ts'
import { type PriceGroup, priceGroups } from '../data/prices.ts'
import { Canvas, type Draw } from './canvas.ts'

type PricePlotProps = { rows: readonly ListingRow[]; total: number }

export function PricePlot({ rows, total }: PricePlotProps) {
  const [chosen, choose] = useState<string | null>(null)
  const groups = useMemo(() => priceGroups(rows), [rows])
  const group = groups.find(({ key }) => key === chosen) ?? groups[0]
  const draw = useMemo(() => group && drawOf(group), [group])
  return html`<figure class="plot">
    <figcaption>
      <h2>Price by GPU model</h2>
      ${groups.length > 0 && html`<${TokenChoice} ...${{ groups, group, choose }} />`}
      <p class="hint">${scope(rows.length, total)}</p>
    </figcaption>
    ${
      group === undefined
        ? html`<p class="hint">No loaded listing has a GPU model and a price.</p>`
        : html`<${Canvas} draw=${draw} label=${summary(group)} />
          <${PriceTable} group=${group} />`
    }
  </figure>`
}

const scope = (count: number, total: number): string =>
  count < total
    ? `The ${count.toLocaleString('en')} newest of ${total.toLocaleString('en')} matches. “Load all” below adds the others.`
    : `All ${count.toLocaleString('en')} matches.`

type TokenChoiceProps = {
  groups: readonly PriceGroup[]
  group: PriceGroup | undefined
  choose: (key: string) => void
}

const TokenChoice = ({ groups, group, choose }: TokenChoiceProps) =>
  html`<label>
    <span class="hint">base units of</span>
    <select
      class="small"
      onChange=${({ currentTarget }: { currentTarget: HTMLSelectElement }) => choose(currentTarget.value)}
    >
      ${groups.map((one) => html`<option value=${one.key} selected=${one === group}>${title(one)}</option>`)}
    </select>
  </label>`

const title = ({ token, chain, per, count }: PriceGroup): string =>
  untrustedText(`${shortAddress(token)}${chain === null ? '' : ` on ${chain}`} per ${per} (${count})`)

function summary({ models, per }: PriceGroup): string {
  const [first, last] = [models[0], models.at(-1)]
  if (first === undefined || last === undefined) return ''
  const ends =
    models.length === 1
      ? `${first.model}: median ${groupDigits(first.median)}`
      : `Medians per ${per} from ${groupDigits(first.median)} for ${first.model} to ${groupDigits(last.median)} for ${last.model}`
  return untrustedText(`${ends}. The table below lists every model.`, 300)
}

const PriceTable = ({ group }: { group: PriceGroup }) =>
  html`<details>
    <summary>As a table</summary>
    <${ScrollTable} label="Prices as a table" columns=${COLUMNS}>
      ${group.models.slice(0, MAX_TABLE_ROWS).map(
        ({ model, prices, lowest, median, highest }) =>
          html`<tr key=${model}>
            <th scope="row"><bdi>${untrustedText(model)}</bdi></th>
            <td class="number">${prices.length}</td>
            <td class="number">${groupDigits(lowest)}</td>
            <td class="number">${groupDigits(median)}</td>
            <td class="number">${groupDigits(highest)}</td>
          </tr>`,
      )}
    <//>
  </details>`

const COLUMNS: readonly ScrollColumn[] = [
  { title: 'Model' },
  { title: 'Listings', isNumber: true },
  { title: 'Lowest', isNumber: true },
  { title: 'Median', isNumber: true },
  { title: 'Highest', isNumber: true },
]
const MAX_TABLE_ROWS = 200
const MAX_DRAWN_MODELS = 24

/** Spreads dots sideways, the same way every time. */
const spread = (n: number, count: number): number =>
  count < 2 ? 0 : (((n * 7) % count) / (count - 1) - 0.5) * 0.6

const drawOf =
  (group: PriceGroup): Draw =>
  ({ colours, text }) => {
    const models = group.models.slice(0, MAX_DRAWN_MODELS)
    const dots = models.flatMap(({ prices }, at) =>
      // A logarithmic scale has no zero; the table shows free listings.
      prices
        .map((price, n): [number, number] => [at + spread(n, prices.length), price])
        .filter(([, price]) => price > 0),
    )
    dots.sort(([a], [b]) => a - b)
    return {
      data: [dots.map(([x]) => x), dots.map(([, price]) => price)],
      scales: {
        x: { time: false, range: [-0.6, models.length - 0.4] },
        y: { distr: 3, range: (_, least, most) => [least / 1.5, most * 1.5] },
      },
      series: [
        {},
        {
          paths: () => null,
          points: { show: true, size: 4, stroke: colours.dot, fill: colours.dot, width: 0 },
        },
      ],
      isLogarithmic: true,
      labels: models.map(({ model }) => untrustedText(model, 24)),
      marks: models.map(({ median }, at) => ({ at, value: Number(median) })),
      text,
    }
  }
