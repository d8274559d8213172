import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { KeyForm, SessionKey } from '../common/key-form.ts'
import { untrustedText } from '../common/untrusted-text.ts'
import { html } from '../html.ts'
import { Banner } from './banner.ts'
import { CommandList } from './command-list.ts'
import { curlListing, curlListings, listingCommandLine, listingsCommandLine } from './commands.ts'
import { useAnswer, useListings, useOpenRow } from './data/hooks.ts'
import type { Order } from './data/prices.ts'
import { joinSources, readStatuses } from './data/sources.ts'
import { controlsOf, suggestionsAt } from './filters/controls.ts'
import { FilterPanel } from './filters/filter-panel.ts'
import { Plots } from './plots/plots.ts'
import { Sheet } from './sheet/sheet.ts'
import { SourceStrip } from './source-strip.ts'
import { ListingPages } from './table/listing-pages.ts'
import { type OpenListing, type QueryParameter, queryString, readView, type View, writeView } from './view.ts'

const READER_KEY = new SessionKey('entrepot.reader-key')

export function App() {
  const [view, go] = useView()
  const [key, setKey] = useState(() => READER_KEY.read())
  const [refreshes, setRefreshes] = useState(0)
  const listings = useListings(queryString(view.query), key, refreshes)
  const spec = useAnswer('filter-spec', key, refreshes)
  const reports = listings.sources ?? listings.error?.sources ?? []
  // A plain Registry has no such route.
  const statuses = useAnswer(reports.length === 0 ? null : 'sources', key, refreshes)
  const controls = useMemo(() => controlsOf(spec), [spec])
  const sources = joinSources(readStatuses(statuses), reports)
  const row = useOpenRow(view.open, listings.rows, key)
  const changeKey = (next: string | null): void => {
    READER_KEY.write(next)
    setKey(next)
  }
  const applyQuery = (query: readonly QueryParameter[]): void => go({ ...view, query, open: null })
  const open = (listing: OpenListing | null): void => go({ ...view, open: listing })
  const base = new URL('.', location.href).href
  const commands = [
    { label: 'curl', text: curlListings(base, view.query, key !== null) },
    { label: 'command line', text: listingsCommandLine(base, view.query) },
  ]
  const main = useRef<HTMLElement>(null)
  return html`<button type="button" class="skip" onClick=${() => main.current?.focus()}>Skip the filters</button>
    <header class="top">
      <h1>entrepot</h1>
      <nav aria-label="Other pages"><a href="docs">API docs</a> <a href="operator">Operator</a></nav>
      <${KeyForm} label="Reader key" isSet=${key !== null} onChange=${changeKey} />
      <button type="button" onClick=${() => setRefreshes(refreshes + 1)}>Refresh</button>
    </header>
    <div class="board">
      <details class="side" open=${!isPhone()}>
        <summary>Filters${view.query.length > 0 ? ` (${view.query.length})` : ''}</summary>
        ${
          view.query.length > 0 &&
          html`<button type="button" class="quiet" onClick=${() => applyQuery([])}>Clear all</button>`
        }
        <${FilterPanel}
          controls=${controls}
          sources=${sources.map(({ registry }) => registry).filter(isSelectable)}
          query=${view.query}
          onChange=${applyQuery}
          suggest=${(path: readonly string[]) => suggestionsAt(listings.rows, path)}
        />
      </details>
      <main ref=${main} tabindex="-1">
        ${sources.length > 0 && html`<${SourceStrip} sources=${sources} isPrevious=${listings.isPrevious} />`}
        <${Banner} listings=${listings} hasKey=${key !== null} />
        ${typeof row === 'string' && html`<p class="banner failed" role="alert">The linked listing: ${untrustedText(row, 500)}</p>`}
        <${Plots} listings=${listings} isOpen=${!isPhone()} />
        <${ListingPages} key=${`${queryString(view.query)} ${view.order} ${refreshes} ${key}`} listings=${listings} order=${view.order} onOrder=${(order: Order) => go({ ...view, order })} onOpen=${open} />
        <details class="elsewhere">
          <summary>This query as a command</summary>
          <${CommandList} commands=${commands} />
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
        { label: 'command line', text: listingCommandLine(base, row) },
        ...commands.map(({ label, text }) => ({ label: `the list, ${label}`, text })),
      ]}
      onClose=${() => open(null)}
    />`
    }`
}

function useView(): [view: View, go: (view: View) => void] {
  const [view, setView] = useState(() => readView(location))
  useEffect(() => {
    const read = (): void => setView(readView(location))
    addEventListener('popstate', read)
    return () => removeEventListener('popstate', read)
  }, [])
  const go = (next: View): void => {
    history.pushState(null, '', writeView(next))
    setView(next)
  }
  return [view, go]
}

/** Panels start folded on a phone, where they would hide the listings. */
const isPhone = (): boolean => matchMedia('(max-width: 50rem)').matches

/** A source of another gateway comes with that gateway: `eu/curated` with `eu`. */
const isSelectable = (registry: string): boolean => !registry.includes('/') && registry !== '*'
