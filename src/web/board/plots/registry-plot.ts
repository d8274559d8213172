import { useMemo } from 'preact/hooks'
import type { SourceReport } from '../../../wire/source.ts'
import { strangerText } from '../../common/untrusted-text.ts'
import { html } from '../../html.ts'
import { Canvas, type Draw } from './canvas.ts'

type RegistryPlotProps = { sources: readonly SourceReport[] }

/** Counts of the Registries themselves: copies count in each. */
export function RegistryPlot({ sources }: RegistryPlotProps) {
  const counted = useMemo(() => sources.filter(({ matched }) => typeof matched === 'number'), [sources])
  const draw = useMemo(() => drawOf(counted), [counted])
  const uncounted = sources.length - counted.length
  return html`<figure class="plot">
    <figcaption>
      <h2>Listings by Registry</h2>
      <p class="hint">
        All that match, each where it lies: copies count twice.${' '}
        ${uncounted > 0 && `${uncounted} of ${sources.length} Registries did not say how many they have.`}
      </p>
    </figcaption>
    ${
      counted.length === 0
        ? html`<p class="hint">No Registry said how many it has.</p>`
        : html`<${Canvas} draw=${draw} label=${summary(counted)} />`
    }
    <details>
      <summary>As a table</summary>
      <div class="scroll" tabindex="0" role="region" aria-label="Listings by Registry as a table">
        <table>
          <thead>
            <tr>
              <th scope="col">Registry</th>
              <th scope="col" class="number">Matches</th>
            </tr>
          </thead>
          <tbody>
            ${sources.map(
              ({ registry, matched }) =>
                html`<tr key=${registry}>
                  <th scope="row">${strangerText(registry)}</th>
                  <td class="number">${matched?.toLocaleString('en') ?? 'not known'}</td>
                </tr>`,
            )}
          </tbody>
        </table>
      </div>
    </details>
  </figure>`
}

const summary = (sources: readonly SourceReport[]): string =>
  strangerText(`${sources.map(({ registry, matched }) => `${registry} ${matched}`).join(', ')}.`, 500)

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
    labels: sources.map(({ registry }) => strangerText(registry, 24)),
    marks: [],
    text,
  })
