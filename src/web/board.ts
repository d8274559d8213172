import { render } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { ProblemError } from '../client/problem-error.ts'
import { type Token, TokenTable } from '../domain/price/token.ts'
import type { JsonValue } from '../json/value.ts'
import { Chips } from './board/chips.ts'
import { curlListing, curlListings, listingCommandLine, listingsCommandLine } from './board/commands.ts'
import { titleOf } from './board/filter-words.ts'
import { type Control, controlsOf } from './board/filters/controls.ts'
import { FilterPanel } from './board/filters/filter-panel.ts'
import { defaultToken } from './board/filters/price-filter.ts'
import { type ListingView, viewOfSpec } from './board/listing-view.ts'
import { useNavigation } from './board/navigation.ts'
import { PricePlot } from './board/price-plot.ts'
import { CommandList, Sheet } from './board/sheet.ts'
import { Banner, SourceLine, Waiting } from './board/sources.ts'
import { isError, useAnswer } from './board/state/answer.ts'
import { useFacets } from './board/state/facets.ts'
import type { ListingRow } from './board/state/listing-row.ts'
import { type Listings, useListings, useOpenRows } from './board/state/listings.ts'
import { CompareBar, CompareDialog } from './board/table/compare.ts'
import { Results } from './board/table/results.ts'
import { filtersOf, type Query, queryString } from './board/view.ts'
import { KeyForm, SessionKey } from './common/key-form.ts'
import { html } from './html.ts'

const AUTOMATIC_MS = 60_000
const READER_KEY = new SessionKey('entrepot.reader-key')

function App() {
  const navigation = useNavigation()
  const { view } = navigation
  const [key, setKey] = useState(() => READER_KEY.read())
  const [refreshes, setRefreshes] = useState(0)
  const [isPanelOpen, openPanel] = useState(false)
  const [picked, setPicked] = useState<readonly ListingRow[]>([])
  const options = { key, refreshes }
  const listings = useListings(queryString(view.query), { ...options, page: view.page })
  const spec = useAnswer<JsonValue>('filter-spec', options)
  const tokenList = useAnswer<{ tokens: Token[] }>('tokens', options)
  const tokens = useMemo(() => new TokenTable(tokenList.value?.tokens ?? []), [tokenList.value])
  const controls = useMemo(() => controlsOf(spec.value), [spec.value])
  const listingView = viewOfSpec(spec.value)
  const reports = listings.error?.sources.length ? listings.error.sources : listings.sources
  const isSpecKnown = spec.state !== 'loading' || spec.value !== null
  const facets = useFacets(view.query, isSpecKnown ? facetNames(listingView, controls) : null, options)
  // Drawn once: without the tokens, prices would change under the reader.
  const isReady =
    (tokenList.state !== 'loading' || tokenList.value !== null) &&
    (listings.total !== null || listings.error !== null)
  const wanted = view.open === null ? view.compared : [view.open]
  const found = useOpenRows(wanted, [...listings.rows, ...picked], options)
  const [row = null] = view.open === null ? [] : found
  const compared = found.filter((one) => one !== null && !isError(one))
  useEffect(() => {
    document.title = titleOf(view.query)
  }, [view.query])
  const changeKey = (next: string | null): void => {
    READER_KEY.write(next)
    setPicked([])
    setKey(next)
  }
  const refresh = (): void => setRefreshes((count) => count + 1)
  const [isAutomatic, setAutomatic] = useState(false)
  useEffect(() => {
    const timer = isAutomatic && setInterval(() => document.hidden || refresh(), AUTOMATIC_MS)
    return () => timer !== false && clearInterval(timer)
  }, [isAutomatic])
  const main = useRef<HTMLElement>(null)
  const base = new URL('.', location.href).href
  const searchCommands = [
    { label: 'curl', text: curlListings(base, view.query, key !== null) },
    { label: 'command line', text: listingsCommandLine(base, view.query) },
  ]
  const table = {
    listingView,
    tokens,
    navigation,
    priceToken: defaultToken(tokens, facets.prices),
    picked,
    onPick: (row: ListingRow) => setPicked(toggled(picked, row)),
  }
  return html`<button type="button" class="skip" onClick=${() => main.current?.focus()}>Skip to listings</button>
    <header class="top row">
      <h1>entrepot</h1>
      <nav aria-label="Other pages"><a href="docs">API docs</a> <a href="operator">Operator</a></nav>
      <${KeyForm} label="API key" isSet=${key !== null} onChange=${changeKey} />
      <button type="button" onClick=${refresh}>Refresh</button>
      <p class="tagline">
        Machines and API credits for rent, from independent registries. Sellers are paid through on-chain escrow; entrepot
        only lists them.
      </p>
    </header>
    <div class="board with-side">
      <aside class=${isPanelOpen ? 'side expanded' : 'side'} aria-label="Filters">
        <button type="button" class="panel-toggle" aria-expanded=${isPanelOpen} onClick=${() => openPanel(!isPanelOpen)}>
          Filters${filtersOf(view.query).length > 0 ? ` (${filtersOf(view.query).length})` : ''}
        </button>
        <div class="panel">
          <${FilterPanel}
            ...${{ spec, controls, listingView, facets, tokens }}
            onRetry=${refresh}
            sources=${(listings.sources ?? []).map(({ registry }) => registry).filter(isSelectable)}
            query=${view.query}
            error=${listings.error}
            onChange=${(query: Query, control: string) => navigation.go({ query }, control)}
          />
          <button type="button" class="show-results" onClick=${() => openPanel(false)}>${showWords(listings)}</button>
        </div>
      </aside>
      <main class="stack" ref=${main} tabindex="-1">
        <${Chips} navigation=${navigation} apiKey=${key} isEmpty=${listings.total === 0 && !listings.isPrevious} />
        <${SourceLine} reports=${reports} isPlain=${reports === null && listings.total !== null} at=${listings.loadedAt ?? Date.now()} apiKey=${key} refreshes=${refreshes} />
        ${row instanceof ProblemError && html`<p class="banner stack failed" role="alert">${lostLinkWords(row, key !== null)}</p>`}
        ${
          isReady
            ? html`<${Banner} listings=${listings} hasKey=${key !== null} />
                <${Results} ...${table} ...${{ listings, facets, isAutomatic, setAutomatic }} apiKey=${key} />
                <${CompareBar} ...${{ picked, navigation }} onClear=${() => setPicked([])} />
                <${PricePlot} ...${{ listings, tokens, navigation }} />
                <details class="elsewhere">
                  <summary>Run this search in a terminal</summary>
                  <${CommandList} commands=${searchCommands} />
                </details>
                <${Glossary} />`
            : html`<h2 id="count"><span role="status">Loading…</span></h2>
                <${Waiting} isWaiting ...${{ query: view.query, apiKey: key }} />`
        }
      </main>
    </div>
    ${
      isReady &&
      row !== null &&
      !(row instanceof ProblemError) &&
      html`<${Sheet}
        key=${`${row.registry} ${row.id}`}
        ...${{ row, tokens, navigation }}
        review=${listingCommandLine(base, row, 'review')}
        commands=${[
          { label: 'curl', text: curlListing(base, row, key !== null) },
          { label: 'command line', text: listingCommandLine(base, row) },
        ]}
      />`
    }
    ${
      isReady &&
      view.compared.length > 0 &&
      !found.includes(null) &&
      html`<${CompareDialog} rows=${compared} lost=${found.length - compared.length} ...${{ tokens, navigation }} />`
    }`
}

/** Those that the filter spec declares. */
const facetNames = ({ facets }: ListingView, controls: readonly Control[]): string[] => [
  ...facets.filter((facet) => controls.some(({ name }) => name === facet)),
  'registry',
]

/** A source of another gateway comes with that gateway: `eu/curated` with `eu`. */
const isSelectable = (registry: string): boolean => !registry.includes('/') && registry !== '*'

const toggled = (picked: readonly ListingRow[], row: ListingRow): readonly ListingRow[] => {
  const others = picked.filter(({ id, registry }) => id !== row.id || registry !== row.registry)
  return others.length < picked.length ? others : [...picked, row]
}

const showWords = ({ total, isPrevious }: Listings): string =>
  isPrevious || total === null ? 'Show listings' : `Show ${total.toLocaleString('en')} listings`

/** A registry that the reader may not see answers as one that does not exist. */
function lostLinkWords({ status, message }: ProblemError, hasKey: boolean): string {
  if (status !== 400 && status !== 404) return `The linked listing could not be loaded: ${message}`
  return hasKey
    ? 'The linked listing no longer exists, or this key does not open its registry.'
    : 'The linked listing no longer exists, or is in a registry that you cannot see. If you have an API key, enter it above.'
}

const TERMS: readonly (readonly [term: string, meaning: string])[] = [
  ['Registry', 'A service where sellers publish their listings. A gateway shows those of several.'],
  [
    'Seller',
    'The wallet that signed a listing. It names a storefront, where buyers agree with the seller and pay.',
  ],
  ['Escrow', 'A contract on a chain that holds the payment until the delivery is accepted.'],
  ['Arbiter', 'The contract that decides whether an escrow pays the seller.'],
  ['Oracle', 'An address whose statement the arbiter uses.'],
  ['Token', 'The money in which a price is given, such as USDC, on one chain.'],
  [
    'Base units',
    "A token's smallest amount. Prices in a token that this gateway does not know are given in it.",
  ],
  ['Status', 'Listings are open, closed or expired. Only open ones are shown unless you choose others.'],
]

const Glossary = () =>
  html`<details>
    <summary>Words of this page</summary>
    <dl>${TERMS.map(([term, meaning]) => html`<dt>${term}</dt><dd>${meaning}</dd>`)}</dl>
  </details>`

const container = document.querySelector('#app')!
container.replaceChildren() // the static shell
render(html`<${App} />`, container)
