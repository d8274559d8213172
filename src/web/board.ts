import { render } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { ProblemError } from '../client/problem-error.ts'
import { type Token, TokenTable } from '../domain/price/token.ts'
import type { JsonValue } from '../json/value.ts'
import { isArriving } from '../wire/describe-missing.ts'
import { Chips, titleOf } from './board/chips.ts'
import { curlListing, curlListings, listingCommandLine, listingsCommandLine } from './board/commands.ts'
import { type Control, controlsOf, withDerived } from './board/filters/controls.ts'
import { FilterPanel } from './board/filters/filter-panel.ts'
import { defaultToken } from './board/filters/price-filter.ts'
import { type ListingView, viewOfSpec } from './board/listing-view.ts'
import { useNavigation } from './board/navigation.ts'
import { PricePlot } from './board/price-plot.ts'
import { CommandList, Sheet } from './board/sheet.ts'
import { Banner, SourceLine } from './board/sources.ts'
import { type Answer, isError, useAnswer } from './board/state/answer.ts'
import { useFacets } from './board/state/facets.ts'
import type { ListingRow } from './board/state/listing-row.ts'
import { type Listings, useListings, useOpenRows } from './board/state/listings.ts'
import { useNews } from './board/state/news.ts'
import { CompareBar, CompareDialog } from './board/table/compare.ts'
import { Results } from './board/table/results.ts'
import { filtersOf, matchString, parameterOf, type Query, queryString } from './board/view.ts'
import { request, toProblemError } from './common/gateway.ts'
import { KeyForm, readKey, writeKey } from './common/key-form.ts'
import { html } from './html.ts'

const KEY_NAME = 'entrepot.reader-key'
const BASE = new URL('.', location.href).href

type Board = ReturnType<typeof useBoard>

/** What the parts of the page share. */
function useBoard() {
  const { apiKey, changeKey, keyRefusal, refuseKey } = useKey()
  const [refreshes, setRefreshes] = useState(0)
  const [picked, setPicked] = useState<readonly ListingRow[]>([])
  const options = { key: apiKey, refreshes }
  const spec = useAnswer<JsonValue>('filter-spec', options)
  const tokenList = useAnswer<{ tokens: Token[] }>('tokens', options)
  const tokens = useMemo(() => new TokenTable(tokenList.value?.tokens ?? []), [tokenList.value])
  const navigation = useNavigation(tokens.usual)
  const { query, page } = navigation.view
  // The usual order is in the first known token.
  const isAsked = isKnown(tokenList) || parameterOf(query, 'sort') !== 'price'
  const listings = useListings(isAsked ? queryString(query) : null, { ...options, page })
  const listingView = useMemo(() => viewOfSpec(spec.value), [spec.value])
  const controls = useMemo(() => {
    const declared = controlsOf(spec.value)
    return listingView.hasRegion ? withDerived(declared, spec.value) : declared
  }, [spec.value])
  const counted = facetNames(listingView, controls)
  const facets = useFacets(query, isKnown(spec) && isAsked ? counted : null, options)
  const refresh = (): void => setRefreshes((count) => count + 1)
  const [isFollowing, setFollowing] = useState(true)
  const arriving = arrivingOf(listings)
  const news = useNews(matchString(query), {
    key: apiKey,
    since: isFollowing || arriving.length > 0 ? listings.changesPosition : null,
  })
  // The page says that the rest follows. A position is lost when a source comes that the reading lacked.
  useEffect(() => {
    if (arriving.some((name) => news.isLost || news.settled.has(name))) refresh()
  }, [news])
  useEffect(() => setPicked([]), [apiKey])
  useEffect(() => {
    if (apiKey !== null && listings.error?.status === 401) refuseKey()
  }, [listings.error])
  return {
    ...{ navigation, apiKey, changeKey, keyRefusal, refreshes, picked, setPicked, options },
    ...{ listings, spec, tokens, controls, listingView, facets },
    refresh,
    ...{ news, isFollowing, setFollowing },
    // Drawn once: without tokens and counts, prices would change under the reader, and rows move.
    isReady:
      isKnown(tokenList) &&
      (facets.state !== 'loading' || facets.total !== null || spec.state === 'failed') &&
      (listings.total !== null || listings.error !== null),
  }
}

/** The reader's key. One that the gateway rejects is not used: the page shows what is public. */
function useKey() {
  const [apiKey, setKey] = useState(() => readKey(KEY_NAME))
  const [keyRefusal, setRefusal] = useState<string | null>(null)
  const keep = (next: string | null, refusal: string | null = null): void => {
    writeKey(KEY_NAME, next)
    setKey(next)
    setRefusal(refusal)
  }
  const refuseKey = (): void => keep(null, KEY_REJECTED)
  const changeKey = async (next: string | null): Promise<void> => {
    if (next === null) return keep(null)
    const status = await request('listings?limit=1', next, {}).then(
      () => 200,
      (cause) => toProblemError(cause).status,
    )
    if (status === 401) refuseKey()
    else keep(next)
  }
  return { apiKey, keyRefusal, refuseKey, changeKey }
}

const KEY_REJECTED = 'Key rejected. Showing public listings.'

const arrivingOf = ({ sources }: Listings): string[] =>
  (sources ?? []).filter(({ state }) => isArriving(state)).map(({ registry }) => registry)

const isKnown = ({ state, value }: Answer<unknown>): boolean => state !== 'loading' || value !== null

function App() {
  const board = useBoard()
  const { navigation, apiKey, listings, refreshes, isReady, picked, options } = board
  const { view } = navigation
  const opened = useOpenRows(
    view.open === null ? view.compared : [view.open],
    [...listings.rows, ...picked],
    options,
  )
  const answer = listings.error?.sources.length ? listings.error : listings
  const { sources: reports, sourcesCounted: counted } = answer
  const main = useRef<HTMLElement>(null)
  useEffect(() => {
    document.title = titleOf(view.query)
  }, [view.query])
  return html`<button type="button" class="skip" onClick=${() => main.current?.focus()}>Skip to listings</button>
    <${Header} ...${board} />
    <div class="board with-side">
      <${Side} ...${board} />
      <main class="stack" ref=${main} tabindex="-1">
        <${Chips} ...${{ navigation, apiKey }} isEmpty=${listings.total === 0 && !listings.isPrevious} />
        <${SourceLine} ...${{ reports, counted, apiKey, refreshes }} hasPrivate=${listings.hints.hasPrivate} isPlain=${reports === null && listings.total !== null} at=${listings.loadedAt ?? Date.now()} />
        ${view.open !== null && isError(opened[0]) && html`<p class="banner stack failed" role="alert">${lostLinkWords(opened[0], apiKey !== null)}</p>`}
        <${isReady ? Content : Loading} ...${board} />
      </main>
    </div>
    ${isReady && html`<${view.open === null ? Comparison : OpenListing} ...${board} opened=${opened} />`}`
}

const Header = ({ apiKey, changeKey, keyRefusal, refresh }: Board) =>
  html`<header class="top row">
    <h1>entrepot</h1>
    <nav aria-label="Other pages"><a href="docs">API docs</a> <a href="operator">Operator</a></nav>
    <${KeyForm} label="API key" isSet=${apiKey !== null} refusal=${keyRefusal} onChange=${changeKey} />
    <button type="button" onClick=${refresh}>Refresh</button>
    <p class="tagline">
      Machines and API credits for rent, from independent registries. Sellers are paid through on-chain escrow; entrepot
      only lists them.
    </p>
  </header>`

function Side(board: Board) {
  const { navigation, listings, refresh } = board
  const { query } = navigation.view
  const [isOpen, setOpen] = useState(false)
  const count = filtersOf(query).length
  return html`<aside class=${isOpen ? 'side expanded' : 'side'} aria-label="Filters">
    <button type="button" class="panel-toggle" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>
      Filters${count > 0 ? ` (${count})` : ''}
    </button>
    <div class="panel">
      <${FilterPanel}
        ...${board}
        ...${{ query, error: listings.error, onRetry: refresh }}
        sources=${selectableIn(board)}
        onChange=${(next: Query, control: string) => navigation.go({ query: next }, control)}
      />
      <button type="button" class="show-results" onClick=${() => setOpen(false)}>${showWords(listings)}</button>
    </div>
  </aside>`
}

const Loading = () => html`<h2 id="count"><span role="status">Loading…</span></h2>`

function Content(board: Board) {
  const { navigation, apiKey, listings, tokens, facets, picked, setPicked } = board
  const { query } = navigation.view
  const onPick = (row: ListingRow): void => setPicked(toggled(picked, row))
  const commands = [
    { label: 'curl', text: curlListings(BASE, query, apiKey !== null) },
    { label: 'command line', text: listingsCommandLine(BASE, query) },
  ]
  return html`<${Banner} listings=${listings} hasKey=${apiKey !== null} />
    <${Results} ...${board} onPick=${onPick} priceToken=${defaultToken(tokens, facets.market.rows)}>
      <${PricePlot} ...${{ facets, listings, tokens, navigation }} />
    <//>
    <${CompareBar} ...${{ picked, navigation }} onClear=${() => setPicked([])} />
    <details class="elsewhere">
      <summary>Run this search in a terminal</summary>
      <${CommandList} commands=${commands} />
    </details>
    <${Glossary} />`
}

/** Each row of the address: `null` while it is loading, an error where that failed. */
type Opened = { opened: readonly (ListingRow | ProblemError | null)[] }

function OpenListing({
  navigation,
  apiKey,
  listings,
  tokens,
  refresh,
  opened: [row = null],
}: Board & Opened) {
  if (row === null || isError(row)) return null
  const leave = (): void => {
    navigation.close()
    refresh()
  }
  return html`<${Sheet}
    key=${`${row.registry} ${row.id}`}
    ...${{ row, tokens, navigation, apiKey }}
    asOf=${row.asOf ?? readAt(row, listings)}
    onBlocked=${leave}
    review=${listingCommandLine(BASE, row, 'review')}
    commands=${[
      { label: 'curl', text: curlListing(BASE, row, apiKey !== null) },
      { label: 'command line', text: listingCommandLine(BASE, row) },
    ]}
  />`
}

function Comparison({ navigation, tokens, opened }: Board & Opened) {
  if (opened.length === 0 || opened.includes(null)) return null
  const rows = opened.filter((one) => one !== null && !isError(one))
  return html`<${CompareDialog} ...${{ rows, tokens, navigation }} lost=${opened.length - rows.length} />`
}

/** Those that the filter spec declares. */
const facetNames = ({ facets, filters }: ListingView, controls: readonly Control[]): string[] => [
  ...facets.filter((facet) => controls.some(({ name }) => name === facet)),
  ...filters.filter((name) => name === 'continent'),
  'registry',
]

/** Of many sources those that the answer names, and those with the most listings. */
function selectableIn({ listings: { sources, sourcesCounted }, facets }: Board): string[] {
  const named = (sources ?? []).map(({ registry }) => registry)
  const counted = sourcesCounted ? (facets.byName.get('sources')?.values ?? []) : []
  return [...new Set([...named, ...counted.map(({ value }) => value)])].filter(isSelectable)
}

/** A source of another gateway comes with that gateway: `eu/curated` with `eu`. */
const isSelectable = (registry: string): boolean => !registry.includes('/') && registry !== '*'

/** By the report of its source. */
function readAt({ registry }: ListingRow, { sources, loadedAt }: Listings): number | null {
  const [source] = registry?.split('/') ?? []
  const age = sources?.find((report) => report.registry === source)?.age_seconds
  return age === undefined || loadedAt === null ? null : loadedAt - age * 1000
}

const toggled = (picked: readonly ListingRow[], row: ListingRow): readonly ListingRow[] => {
  const rest = picked.filter(({ id, registry }) => id !== row.id || registry !== row.registry)
  return rest.length < picked.length ? rest : [...picked, row]
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
    <summary>Glossary</summary>
    <dl>${TERMS.map(([term, meaning]) => html`<dt>${term}</dt><dd>${meaning}</dd>`)}</dl>
  </details>`

const container = document.querySelector('#app')!
container.replaceChildren() // the static shell
render(html`<${App} />`, container)
