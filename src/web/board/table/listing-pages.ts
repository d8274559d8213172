import { useMemo, useRef, useState } from 'preact/hooks'
import { html } from '../../html.ts'
import type { Listings } from '../data/hooks.ts'
import type { ListingRow } from '../data/listing-row.ts'
import { MAX_ROWS, PAGE_ROWS } from '../data/page-loader.ts'
import { type Order, orderedRows } from '../data/prices.ts'
import type { OpenListing } from '../view.ts'
import { ListingTable } from './listing-table.ts'

type ListingPagesProps = {
  listings: Listings
  order: Order
  onOrder: (order: Order) => void
  onOpen: (listing: OpenListing) => void
}

export function ListingPages({ listings, order, onOrder, onOpen }: ListingPagesProps) {
  const [page, setPage] = useState(0)
  const top = useRef<HTMLElement>(null)
  const { rows, total, phase, sources, loadedAt, isPrevious } = listings
  const ordered = useMemo(() => orderedRows(rows, order), [rows, order])
  const start = page * PAGE_ROWS
  const turn = (next: number): void => {
    setPage(next)
    top.current?.scrollIntoView({ block: 'start' })
  }
  return html`<section class=${isPrevious ? 'market old' : 'market'} ref=${top} aria-label="Listings" aria-busy=${isPrevious || phase === 'loading'}>
    <p role="status">
      <span class="count">${isPrevious ? 'Loading…' : countWords(listings)}</span>
      ${loadedAt !== null && !isPrevious && html`<span class="hint"> As of ${loadedAt.toLocaleTimeString('en', CLOCK)}.</span>`}
    </p>
    ${
      rows.length > 0 &&
      html`<${OrderChoice} ...${{ order, onOrder, isAll: phase === 'end' }} />
      <${ListingTable}
        rows=${ordered.slice(start, start + PAGE_ROWS)}
        offset=${start}
        total=${total ?? rows.length}
        isMerged=${sources !== null}
        onOpen=${({ id, registry }: ListingRow) => onOpen({ id, registry })}
      />
      <${Pager} ...${{ listings, page, onPage: turn }} />`
    }
  </section>`
}

type OrderChoiceProps = Pick<ListingPagesProps, 'order' | 'onOrder'> & { isAll: boolean }

const OrderChoice = ({ order, onOrder, isAll }: OrderChoiceProps) =>
  html`<label class="order">
    <span class="hint">order</span>
    <select
      class="small"
      onChange=${({ currentTarget }: { currentTarget: HTMLSelectElement }) => onOrder(currentTarget.value as Order)}
    >
      <option value="newest" selected=${order === 'newest'}>newest first</option>
      <option value="price" selected=${order === 'price'}>cheapest first, by token</option>
    </select>
    ${order === 'price' && !isAll && html`<span class="hint">of the loaded listings</span>`}
  </label>`

const CLOCK = { hour12: false } as const

/** That none matches is certain only if every source answered. */
function countWords({ rows, total, isComplete, error }: Listings): string {
  if (total === null) return error === null ? 'Loading…' : 'No listings could be loaded.'
  if (rows.length === 0)
    return isComplete && error === null
      ? 'No listing matches.'
      : 'No listing was found, but not every Registry answered.'
  const matches = total === 1 ? 'One listing matches' : `${number(total)} listings match`
  return isComplete ? `${matches}.` : `${matches} at the Registries that answered.`
}

type PagerProps = {
  listings: Listings
  /** From 0. */
  page: number
  onPage: (page: number) => void
}

function Pager({ listings, page, onPage }: PagerProps) {
  const { rows, total, phase, loadUntil } = listings
  const end = Math.min(rows.length, (page + 1) * PAGE_ROWS)
  const isMore = rows.length > end || phase === 'more'
  const turn = async (): Promise<void> => {
    const count = await loadUntil((page + 2) * PAGE_ROWS)
    if (count > (page + 1) * PAGE_ROWS) onPage(page + 1)
  }
  return html`<nav class="pager" aria-label="Pages">
    <button type="button" disabled=${page === 0} onClick=${() => onPage(page - 1)}>Previous</button>
    <span>
      ${rows.length === 0 ? 'none' : `${number(page * PAGE_ROWS + 1)} to ${number(end)}`} of ${number(total ?? 0)}
    </span>
    <button type="button" disabled=${!isMore} onClick=${turn}>Next</button>
    ${
      phase === 'more' &&
      html`<button type="button" class="quiet" onClick=${() => loadUntil(MAX_ROWS)}>
      Load all${(total ?? 0) > MAX_ROWS ? ` (at most ${number(MAX_ROWS)})` : ''}
    </button>`
    }
    ${
      rows.length >= MAX_ROWS &&
      (total ?? 0) > MAX_ROWS &&
      html`<span class="hint">The board loads at most ${number(MAX_ROWS)} listings. Filters reduce the list.</span>`
    }
  </nav>`
}

const number = (value: number): string => value.toLocaleString('en')
