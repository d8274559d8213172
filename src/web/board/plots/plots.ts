import { useEffect, useState } from 'preact/hooks'
import type { SourceReport } from '../../../wire/source.ts'
import { html } from '../../html.ts'
import type { Listings } from '../data/hooks.ts'
import type { ListingRow } from '../data/listing-row.ts'
import { PricePlot } from './price-plot.ts'
import { RegistryPlot } from './registry-plot.ts'

export function Plots({ listings, isOpen }: { listings: Listings; isOpen: boolean }) {
  const rows = useSettled(listings.rows)
  if (rows.length === 0) return null
  return html`<details class="plots" open=${isOpen}>
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

/** Redraw delay while pages arrive. */
const SETTLE_MS = 300

/** The first rows pass at once. */
function useSettled(rows: readonly ListingRow[]): readonly ListingRow[] {
  const [settled, settle] = useState(rows)
  const isFirst = settled.length === 0 || rows.length < settled.length
  useEffect(() => {
    const timer = setTimeout(() => settle(rows), isFirst ? 0 : SETTLE_MS)
    return () => clearTimeout(timer)
  }, [rows, isFirst])
  return settled
}
