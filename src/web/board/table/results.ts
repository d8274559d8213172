import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'
import { plural } from '../../../domain/plural.ts'
import { describeAnswered, oldestReading } from '../../../wire/describe-answered.ts'
import { describeMissing, hasAnswered } from '../../../wire/describe-missing.ts'
import { CopyButton } from '../../common/copy-button.ts'
import { SelectBox } from '../../common/select-box.ts'
import { TimeAgo } from '../../common/time.ts'
import { untrustedText } from '../../common/untrusted-text.ts'
import { html } from '../../html.ts'
import { registryUrl } from '../commands.ts'
import type { ListingView } from '../listing-view.ts'
import type { Navigation } from '../navigation.ts'
import { lackOf } from '../sources.ts'
import type { FacetCounts } from '../state/facets.ts'
import { decodeUtf8, type ListingRow } from '../state/listing-row.ts'
import type { Listings } from '../state/listings.ts'
import { MAX_ROWS, PAGE_ROWS } from '../state/page-loader.ts'
import { filtersOf, parameterOf, type Query } from '../view.ts'
import { listingsCsv } from './columns.ts'
import { AgentCopy, Facts, Sentence } from './facts-line.ts'
import { HintLines } from './hint-lines.ts'
import { ARROWS, ListingTable, type ListingTableProps, sortHint } from './listing-table.ts'
import { NearMisses } from './near-misses.ts'
import { NewsLine } from './news-line.ts'
import { inOrder, type Order, ordersOf, type Sorting, sortOf } from './row-order.ts'

type ResultsProps = Omit<ListingTableProps, 'rows' | 'offset' | 'total' | 'sorting'> & {
  listings: Listings
  listingView: ListingView
  /** For an order by price where no token is chosen. */
  priceToken: string | null
  facets: FacetCounts
  /** Whether `news` are requested. */
  isFollowing: boolean
  setFollowing: (isFollowing: boolean) => void
  /** Loads the listings again. */
  refresh: () => void
  /** Between the facts and the table. */
  children: ComponentChildren
}

export function Results(props: ResultsProps) {
  const { listings, facets, news, isFollowing, setFollowing, refresh } = props
  const { navigation, listingView, priceToken, tokens } = props
  const { total, phase, sources, hints, loadedAt, isPrevious, isWhole, loadUntil } = listings
  const { view, go } = navigation
  const isMerged = sources !== null
  const sorting = { view, listingView, isMerged, priceToken, isWhole, canLoadAll: (total ?? 0) <= MAX_ROWS }
  const rows = inOrder(listings.rows, sorting)
  const heading = useRef<HTMLHeadingElement>(null)
  const lastPage = Math.max(1, Math.ceil(Math.min(total ?? 0, MAX_ROWS) / PAGE_ROWS))
  const page = Math.min(view.page, lastPage)
  const start = (page - 1) * PAGE_ROWS
  const turnTo = (next: number): void => {
    go({ page: next })
    heading.current?.focus()
    heading.current?.scrollIntoView({ block: 'start' })
  }
  const latest = useRef(rows)
  latest.current = rows
  /** All rows, up to the most that a page holds; no file if some of them cannot be loaded. */
  const save = async (type: string, write: (rows: readonly ListingRow[]) => string): Promise<void> => {
    if (await loadUntil(MAX_ROWS)) download(type, write(latest.current))
  }
  const isLoading = isPrevious ? phase !== 'failed' : phase === 'loading' && rows.length <= start
  return html`<section class="results stack" aria-labelledby="count" aria-busy=${isLoading}>
    <div class="summary row">
      <h2 id="count" tabindex="-1" ref=${heading}>
        <span role="status">${isLoading ? 'Loading…' : countWords(listings)}</span>
      </h2>
      <${Facts} ...${{ facets, listings, tokens }} />
      <span class="hint updated">
        ${loadedAt !== null && html`updated <${TimeAgo} at=${loadedAt - oldestAge(listings) * 1000} />`}</span>
    </div>
    <${NewsLine} ...${{ news, refresh }} rows=${listings.rows} />
    <${Sentence} facets=${facets} />
    ${!isLoading && html`<${HintLines} ...${{ hints, navigation }} total=${total ?? 0} />`}
    ${props.children}
    <div class="tools row">
      <${SortChoice} ...${{ navigation, sorting }} />
      <${CopyButton} text=${() => location.href} label="link of this search">Copy link<//>
      <${AgentCopy} ...${{ facets, listings, loadedAt }} query=${navigation.view.query} />
      <button type="button" class="quiet save" disabled=${rows.length === 0} onClick=${() => save('csv', (all) => listingsCsv(all, tokens, csvNotes(listings)))}>CSV</button>
      <button type="button" class="quiet save" disabled=${rows.length === 0} onClick=${() => save('json', listingsJson)}>JSON</button>
      <label class="choice"><input type="checkbox" checked=${isFollowing} onChange=${() => setFollowing(!isFollowing)} /> watch for changes</label>
    </div>
    <div class=${isPrevious ? 'rows old' : 'rows'}>
      ${
        rows.length > 0 &&
        html`<${ListingTable}
          ...${props}
          rows=${rows.slice(start, start + PAGE_ROWS)}
          offset=${start}
          total=${total ?? rows.length}
          sorting=${sorting}
        />`
      }
    </div>
    ${isEmptyMarket(listings, view.query) && html`<${FirstListing} sources=${sources} />`}
    ${rows.length === 0 && !isLoading && html`<${NearMisses} ...${{ tokens, navigation }} misses=${hints.nearMisses} />`}
    ${rows.length > 0 && html`<${Pager} ...${{ listings, sorting, page, lastPage, onTurn: turnTo }} />`}
  </section>`
}

/** All orders: a phone shows no columns. */
function SortChoice({ navigation: { go, view }, sorting }: { navigation: Navigation; sorting: Sorting }) {
  const orders = ordersOf(sorting).toSorted(
    (a, b) => Number(b.name === 'listed') - Number(a.name === 'listed'),
  )
  const sortable = orders.filter(({ name }) => sortOf(name, sorting).change !== null)
  const current = orders.find(({ name }) => sortOf(name, sorting).direction !== 'none')?.name ?? 'listed'
  const { direction, change } = sortOf(current, sorting)
  const wordsOf = ({ name, title }: Order): string => {
    if (name === 'listed') return 'newest first'
    const isByToken = name === 'price' && parameterOf(view.query, 'price_token') === null
    return `${title(sorting.listingView)}${isByToken ? ', lowest first' : ''}`
  }
  return html`<label class="row">
      <span class="hint">Sort</span>
      <${SelectBox}
        value=${current}
        options=${sortable.map((order) => [order.name, wordsOf(order)])}
        onChange=${(name: string) => go(sortOf(name, sorting).change ?? {}, 'sort')}
      />
    </label>
    ${sorting.isWhole && html`<button type="button" class="quiet" aria-label=${`Reverse the order, now ${direction}`} onClick=${() => go(change ?? {}, 'sort')}>${ARROWS[direction]}</button>`}`
}

const isEmptyMarket = ({ total, isComplete, isPrevious, error }: Listings, query: Query): boolean =>
  total === 0 && isComplete && !isPrevious && error === null && filtersOf(query).length === 0

/** What to do in an empty market that takes listings: a gateway over others may have no Registry of its own. */
const FirstListing = ({ sources }: Pick<Listings, 'sources'>) =>
  (sources === null || sources.some(({ mode }) => mode === 'local')) &&
  html`<p>Nothing is published yet. <code>entrepot publish FILE -r ${registryUrl(new URL('.', location.href).href)}</code> publishes listings,
    and <code>entrepot init</code> writes an example of such a file.</p>`

/** That none matches is certain only if every source answered. */
function countWords(listings: Listings): string {
  const { rows, total, isComplete, error, sources, isPrevious } = listings
  if (total === null) return error === null ? 'Loading…' : 'No listings could be loaded.'
  if (isPrevious) return 'Results of the previous search'
  const lack = error === null ? lackOf(sources ?? []) : 'failed'
  if (rows.length === 0) return isComplete && error === null ? 'No listing matches.' : NONE_WORDS[lack]
  const count = total === 1 ? 'One listing' : `${number(total)} listings`
  if (isComplete) return count
  if (lack === 'arriving') return `${count} so far`
  if (lack === 'partial') return `At least ${count.toLowerCase()}`
  const missing = (sources ?? []).filter(({ state }) => !hasAnswered(state))
  const [first] = missing
  if (first === undefined) return `${count} found; not complete`
  const names = missing.length === 1 ? untrustedText(first.registry) : `${missing.length} registries`
  const isLeftOut = missing.every(({ state }) => state === 'skipped')
  return `${count} found; ${names} ${isLeftOut ? 'left out' : 'did not answer'}`
}

const NONE_WORDS = {
  arriving: 'No listing found so far.',
  partial: 'No listing found in what is held.',
  failed: 'No listing found, but not every registry answered.',
}

type PagerProps = {
  listings: Listings
  sorting: Sorting
  page: number
  lastPage: number
  onTurn: (page: number) => void
}

/** A button that has nothing to do keeps the focus. */
function Pager({ listings, sorting, page, lastPage, onTurn }: PagerProps) {
  const { rows, total, phase, isWhole, loadUntil } = listings
  const start = (page - 1) * PAGE_ROWS
  const end = Math.min(rows.length, start + PAGE_ROWS)
  const isLast = page >= lastPage || (isWhole && rows.length <= start + PAGE_ROWS)
  const step = (words: string, to: number, isOff: boolean) =>
    html`<button type="button" aria-disabled=${isOff ? 'true' : undefined} onClick=${() => isOff || onTurn(to)}>${words}</button>`
  const loadAll = (total ?? 0) > MAX_ROWS ? `Load all (up to ${number(MAX_ROWS)})` : 'Load all'
  return html`<nav class="pager row" aria-label="Pages">
    ${step('Previous', page - 1, page === 1)}
    <span>${rows.length <= start ? 'Loading…' : `${number(start + 1)} to ${number(end)}`} of ${number(total ?? 0)}</span>
    ${step('Next', page + 1, isLast)}
    ${
      !isWhole &&
      rows.length < MAX_ROWS &&
      html`<button type="button" class="quiet" aria-disabled=${phase === 'loading' ? 'true' : undefined} onClick=${() => phase === 'loading' || loadUntil(MAX_ROWS)}>
        ${phase === 'loading' ? `Loading ${number(rows.length)} of ${number(Math.min(total ?? 0, MAX_ROWS))}…` : loadAll}
      </button>`
    }
    ${!isWhole && html`<span class="hint">${sortHint(sorting)}</span>`}
    ${
      !isWhole &&
      rows.length >= MAX_ROWS &&
      html`<span class="hint">Showing the first ${number(MAX_ROWS)}. Narrow the filters to see others.</span>`
    }
  </nav>`
}

const number = (value: number): string => value.toLocaleString('en')

/** Of the listings that are shown, in seconds. */
const oldestAge = ({ sources, sourcesCounted }: Listings): number =>
  oldestReading(sources ?? [], sourcesCounted) ?? 0

/** What the file is of, when it was read, and what it lacks. */
function csvNotes({ rows, isWhole, isComplete, sources, sourcesCounted, loadedAt }: Listings): string[] {
  const missing = (sources ?? []).map(describeMissing).filter((words) => words !== null)
  return [
    `${location.href.replace(/#.*/, '')}, read ${new Date(loadedAt ?? Date.now()).toISOString()}`,
    `${plural(rows.length, 'listing')}, ${isWhole && isComplete ? 'all that match' : 'not all that match'}`,
    ...(sources === null ? [] : [untrustedText(describeAnswered(sources, sourcesCounted), MAX_NOTE_CHARS)]),
    ...missing.map((words) => untrustedText(words, MAX_NOTE_CHARS)),
  ]
}

const MAX_NOTE_CHARS = 300

/** The bytes of each listing as they came. */
const listingsJson = (rows: readonly ListingRow[]): string =>
  `[\n${rows.map(({ bytes }) => decodeUtf8(bytes)).join(',\n')}\n]\n`

function download(type: string, text: string): void {
  const url = URL.createObjectURL(
    new Blob([text], { type: type === 'csv' ? 'text/csv' : 'application/json' }),
  )
  Object.assign(document.createElement('a'), { href: url, download: `listings.${type}` }).click()
  setTimeout(() => URL.revokeObjectURL(url), REVOKE_MS)
}

const REVOKE_MS = 60_000
