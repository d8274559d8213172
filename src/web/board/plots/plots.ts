import type { SourceReport } from '../../../wire/source.ts'
import { html } from '../../html.ts'
import type { Listings } from '../data/use-listings.ts'
import { isNarrow } from '../narrow.ts'
import { PricePlot } from './price-plot.ts'
import { RegistryPlot } from './registry-plot.ts'
import { useSettled } from './use-settled.ts'

/** Redraw delay while pages arrive. */
const SETTLE_MS = 300

export function Plots({ listings }: { listings: Listings }) {
  const rows = useSettled(listings.rows, SETTLE_MS)
  if (rows.length === 0) return null
  return html`<details class="plots" open=${!isNarrow()}>
    <summary>Plots</summary>
    <div>
      <${PricePlot} rows=${rows} total=${listings.total ?? rows.length} />
      <${RegistryPlot} sources=${listings.sources ?? [ownCount(listings.total ?? rows.length)]} />
    </div>
  </details>`
}

const ownCount = (matched: number): SourceReport => ({
  registry: 'this Registry',
  state: 'loaded',
  matched,
})
