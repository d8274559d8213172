import { useMemo, useRef, useState } from 'preact/hooks'
import { KeyForm } from '../common/key-form.ts'
import { SessionKey } from '../common/session-key.ts'
import { strangerText } from '../common/untrusted-text.ts'
import { html } from '../html.ts'
import { Banner } from './banner.ts'
import { curlCommand, curlListing, listingCommand, listingsCommand } from './commands.ts'
import { Commands } from './commands-view.ts'
import { joinSources, readStatuses } from './data/sources.ts'
import { useAnswer } from './data/use-answer.ts'
import { useWalk } from './data/use-listings.ts'
import { useOpenRow } from './data/use-open-row.ts'
import { controlsOf } from './filters/controls.ts'
import { FilterPanel } from './filters/filter-panel.ts'
import { suggestionsAt } from './filters/suggestions.ts'
import { isNarrow } from './narrow.ts'
import { Plots } from './plots/plots.ts'
import { Sheet } from './sheet/sheet.ts'
import { SourceStrip } from './source-strip.ts'
import { ListingPages } from './table/listing-pages.ts'
import type { Order } from './table/ordered-rows.ts'
import { useView } from './use-view.ts'
import { type OpenListing, type Parameter, queryString } from './view.ts'

const READER_KEY = new SessionKey('entrepot.reader-key')

export function App() {
  const [view, go] = useView()
  const [key, setKey] = useState(() => READER_KEY.read())
  const [round, setRound] = useState(0)
  const listings = useWalk(queryString(view.query), key, round)
  const spec = useAnswer('filter-spec', key, round)
  const reports = listings.sources ?? listings.fault?.problem.sources ?? []
  // A plain Registry has no such route.
  const statuses = useAnswer(reports.length === 0 ? null : 'sources', key, round)
  const controls = useMemo(() => controlsOf(spec), [spec])
  const sources = joinSources(readStatuses(statuses), reports)
  const row = useOpenRow(view.open, listings.rows, key)
  const changeKey = (next: string | null): void => {
    READER_KEY.write(next)
    setKey(next)
  }
  const ask = (query: readonly Parameter[]): void => go({ ...view, query, open: null })
  const open = (listing: OpenListing | null): void => go({ ...view, open: listing })
  const base = new URL('.', location.href).href
  const question = [
    { label: 'curl', text: curlCommand(base, view.query, key !== null) },
    { label: 'command line', text: listingsCommand(base, view.query) },
  ]
  const main = useRef<HTMLElement>(null)
  return html`<button type="button" class="skip" onClick=${() => main.current?.focus()}>Past the filters</button>
    <header class="top">
      <h1><img src="assets/web/icon.svg" alt="" width="20" height="20" /> entrepot</h1>
      <nav aria-label="Other pages"><a href="docs">Interface</a> <a href="operator">Operator</a></nav>
      <${KeyForm} label="Reader key" isSet=${key !== null} onChange=${changeKey} />
      <button type="button" onClick=${() => setRound(round + 1)}>Refresh</button>
    </header>
    <div class="board">
      <details class="side" open=${!isNarrow()}>
        <summary>Filters${view.query.length > 0 ? ` (${view.query.length})` : ''}</summary>
        ${
          view.query.length > 0 &&
          html`<button type="button" class="quiet" onClick=${() => ask([])}>Clear all</button>`
        }
        <${FilterPanel}
          controls=${controls}
          sources=${sources.map(({ registry }) => registry).filter(isAskable)}
          query=${view.query}
          onChange=${ask}
          suggest=${(path: readonly string[]) => suggestionsAt(listings.rows, path)}
        />
      </details>
      <main ref=${main} tabindex="-1">
        ${sources.length > 0 && html`<${SourceStrip} sources=${sources} isOld=${listings.isOld} />`}
        <${Banner} listings=${listings} hasKey=${key !== null} />
        ${typeof row === 'string' && html`<p class="banner failed" role="alert">The listing of this address: ${strangerText(row, 500)}</p>`}
        <${Plots} listings=${listings} />
        <${ListingPages} key=${`${queryString(view.query)} ${view.order} ${round} ${key}`} listings=${listings} order=${view.order} onOrder=${(order: Order) => go({ ...view, order })} onOpen=${open} />
        <details class="elsewhere">
          <summary>The same question elsewhere</summary>
          <${Commands} commands=${question} />
        </details>
      </main>
    </div>
    ${
      row !== null &&
      typeof row !== 'string' &&
      view.open !== null &&
      html`<${Sheet}
      key=${`${row.registry} ${row.id}`}
      row=${row}
      commands=${[
        { label: 'curl', text: curlListing(base, row, key !== null) },
        { label: 'command line', text: listingCommand(base, row) },
        ...question.map(({ label, text }) => ({ label: `the list, ${label}`, text })),
      ]}
      onClose=${() => open(null)}
    />`
    }`
}

/** Sources behind another gateway come with it: `eu/curated` with `eu`. */
const isAskable = (registry: string): boolean => !registry.includes('/') && registry !== '*'
