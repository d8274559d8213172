import { useMemo, useRef, useState } from 'preact/hooks'
import { html } from '../../html.ts'
import type { Row } from '../data/listing-row.ts'
import { PAGE_ROWS } from '../data/page-loader.ts'
import type { Listings } from '../data/use-listings.ts'
import type { OpenListing } from '../view.ts'
import { ListingTable } from './listing-table.ts'
import { type Order, orderedRows } from './ordered-rows.ts'
import { Pager } from './pager.ts'

type ListingPagesProps = {
  listings: Listings
  order: Order
  onOrder: (order: Order) => void
  onOpen: (listing: OpenListing) => void
}

export function ListingPages({ listings, order, onOrder, onOpen }: ListingPagesProps) {
  const [page, setPage] = useState(0)
  const top = useRef<HTMLElement>(null)
  const { rows, total, phase, fault, isComplete, sources, readAt, isOld } = listings
  const ordered = useMemo(() => orderedRows(rows, order), [rows, order])
  const start = page * PAGE_ROWS
  const turn = (next: number): void => {
    setPage(next)
    top.current?.scrollIntoView({ block: 'start' })
  }
  return html`<section class=${isOld ? 'market old' : 'market'} ref=${top} aria-label="Listings" aria-busy=${isOld || phase === 'reading'}>
    <p role="status">
      <span class="count">${isOld ? 'Reading…' : countWords({ held: rows.length, total, isComplete, hasFault: fault !== null })}</span>
      ${readAt !== null && !isOld && html`<span class="hint"> As of ${readAt.toLocaleTimeString('en', CLOCK)}.</span>`}
    </p>
    ${
      rows.length > 0 &&
      html`<${OrderChoice} ...${{ order, onOrder, isAll: phase === 'end' }} />
      <${ListingTable}
        rows=${ordered.slice(start, start + PAGE_ROWS)}
        offset=${start}
        total=${total ?? rows.length}
        isMerged=${sources !== null}
        onOpen=${({ id, registry }: Row) => onOpen({ id, registry })}
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
      <option value="price" selected=${order === 'price'}>cheapest first, token by token</option>
    </select>
    ${order === 'price' && !isAll && html`<span class="hint">of the listings that have been read</span>`}
  </label>`

const CLOCK = { hour12: false } as const

type Count = { held: number; total: number | null; isComplete: boolean; hasFault: boolean }

/** Says "none" only if every source answered. */
function countWords({ held, total, isComplete, hasFault }: Count): string {
  if (total === null) return hasFault ? 'No listings could be read.' : 'Reading…'
  const some = total === 1 ? 'One listing matches' : `${total.toLocaleString('en')} listings match`
  if (held === 0 && isComplete && !hasFault) return 'No listing matches.'
  if (held === 0) return 'No listing was found, but not every Registry has answered.'
  return isComplete ? `${some}.` : `${some} in what could be read.`
}
