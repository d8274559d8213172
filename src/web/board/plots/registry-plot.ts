import { useMemo } from 'preact/hooks'
import type { SourceReport } from '../../../wire/source.ts'
import { type ScrollColumn, ScrollTable } from '../../common/scroll-table.ts'
import { untrustedText } from '../../common/untrusted-text.ts'
import { html } from '../../html.ts'
import { Canvas, type Draw } from './canvas.ts'

type RegistryPlotProps = { sources: readonly SourceReport[] }

/** The counts of the Registries themselves. */
export function RegistryPlot({ sources }: RegistryPlotProps) {
  const counted = useMemo(() => sources.filter(({ matched }) => typeof matched === 'number'), [sources])
  const draw = useMemo(() => drawOf(counted), [counted])
  const uncounted = sources.length - counted.length
  return html`<figure class="plot">
    <figcaption>
      <h2>Listings by Registry</h2>
      <p class="hint">
        All matches of each Registry. A copy counts at each.${' '}
        ${uncounted > 0 && `${uncounted} of ${sources.length} Registries reported no count.`}
      </p>
    </figcaption>
    ${
      counted.length === 0
        ? html`<p class="hint">No Registry reported a count.</p>`
        : html`<${Canvas} draw=${draw} label=${summary(counted)} />`
    }
    <details>
      <summary>As a table</summary>
      <${ScrollTable} label="Listings by Registry as a table" columns=${COLUMNS}>
        ${sources.map(
          ({ registry, matched }) =>
            html`<tr key=${registry}>
              <th scope="row">${untrustedText(registry)}</th>
              <td class="number">${matched?.toLocaleString('en') ?? 'unknown'}</td>
            </tr>`,
        )}
      <//>
    </details>
  </figure>`
}

const COLUMNS: readonly ScrollColumn[] = [{ title: 'Registry' }, { title: 'Matches', isNumber: true }]

const summary = (sources: readonly SourceReport[]): string =>
  untrustedText(`${sources.map(({ registry, matched }) => `${registry} ${matched}`).join(', ')}.`, 500)

const drawOf =
  (sources: readonly SourceReport[]): Draw =>
  ({ colours, bars, text }) => ({
    data: [sources.map((_, at) => at), sources.map(({ matched }) => matched ?? 0)],
    scales: {
      x: { time: false, range: [-0.6, sources.length - 0.4] },
      y: { range: (_, __, most) => [0, Math.max(1, most * 1.1)] },
    },
    series: [{}, { paths: bars, points: { show: false }, fill: colours.bar, stroke: colours.bar, width: 0 }],
    isLogarithmic: false,
    labels: sources.map(({ registry }) => untrustedText(registry, 24)),
    marks: [],
    text,
  })
