import { useMemo, useState } from 'preact/hooks'
import { groupFamilies } from '../../../domain/families.ts'
import type { TokenTable } from '../../../domain/price/token.ts'
import { objectOrEmpty } from '../../../json/value.ts'
import { useNow } from '../../common/time.ts'
import { untrustedText } from '../../common/untrusted-text.ts'
import { html } from '../../html.ts'
import { type Navigation, ViewLink } from '../navigation.ts'
import { type ListingRow, parseListing, warningsOf } from '../state/listing-row.ts'
import type { News } from '../state/news.ts'
import { MAX_ROWS } from '../state/page-loader.ts'
import { MAX_COMPARED } from '../view.ts'
import { commonUnit, Storefront } from './columns.ts'
import { type Order, ordersOf, type Sorting, sortOf } from './row-order.ts'

export type ListingTableProps = {
  rows: readonly ListingRow[]
  offset: number
  total: number
  sorting: Sorting
  tokens: TokenTable
  navigation: Navigation
  /** What has changed since the rows were loaded, which marks them. */
  news: News
  /** Rows to compare. */
  picked: readonly ListingRow[]
  onPick: (row: ListingRow) => void
}

/** Rows are keyed by index: reuse is far faster. Roles are explicit: the phone style removes the table's. */
export function ListingTable(props: ListingTableProps) {
  const { rows, offset, total, sorting } = props
  const now = useNow()
  const columns = ordersOf(sorting).filter(({ cell }) => cell !== null)
  const unitOf = ({ per }: Order) =>
    per === undefined ? null : commonUnit(rows, per(sorting.listingView), props.tokens)
  const units = new Map(columns.map((column) => [column.name, unitOf(column)]))
  const [open, setOpen] = useState<readonly string[]>([])
  const families = useMemo(() => groupFamilies(rows, readOffered), [...rows])
  const lines = families.flatMap((family): Line[] => {
    const [first, ...others] = family as [ListingRow, ...ListingRow[]]
    const key = `${first.registry} ${first.id}`
    const isOpen = open.includes(key)
    const toggle = (): void => setOpen(isOpen ? open.filter((one) => one !== key) : [...open, key])
    const line = { row: first, places: family.length, isOpen, toggle }
    return [line, ...(isOpen ? others.map((row) => ({ row, places: 0, isOpen, toggle })) : [])]
  })
  return html`<table role="table" class="listings cards box" aria-rowcount=${total + 1}>
    <caption class="unseen">Listings</caption>
    <thead role="rowgroup">
      <tr role="row" aria-rowindex="1">
        <th role="columnheader" scope="col" class="pick"><span class="unseen">Compare</span></th>
        ${columns.map((column) => html`<${SortHead} ...${props} column=${column} unit=${units.get(column.name)} />`)}
        <th role="columnheader" scope="col" class="links"><span class="unseen">Links</span></th>
      </tr>
    </thead>
    <tbody role="rowgroup">
      ${lines.map((line, n) => html`<${TableRow} key=${n} ...${props} ...${{ ...line, columns, units, now }} index=${offset + n + 2} />`)}
    </tbody>
  </table>`
}

/** A row with the number of its family; 0 for the further ones of an unfolded family. */
type Line = { row: ListingRow; places: number; isOpen: boolean; toggle: () => void }

/** What a reader is warned of is not hidden in a family. */
const readOffered = (row: ListingRow) => ({
  listing: objectOrEmpty(parseListing(row.bytes)),
  publisher: JSON.stringify([row.publisher, row.registry, row.alsoIn, warningsOf(row)]),
})

type SortHeadProps = Pick<ListingTableProps, 'navigation' | 'sorting'> & {
  column: Order
  unit: string | null
}

function SortHead({ navigation, sorting, column, unit }: SortHeadProps) {
  const { direction, change } = sortOf(column.name, sorting)
  const title = column.title(sorting.listingView)
  const arrow = html`<span class="arrow" aria-hidden="true">${ARROWS[direction]}</span>`
  return html`<th
    role="columnheader"
    scope="col"
    class=${column.name}
    style=${{ width: column.width }}
    aria-sort=${direction}
    title=${change === null && column.order !== null ? sortHint(sorting) : undefined}
  >
    ${change === null ? title : html`<${ViewLink} ...${{ navigation, change }} control="sort">${title}${arrow}<//>`}
    ${unit !== null && html` <span class="unit">${unit.replace('/GPU·h', '')}</span>`}
  </th>`
}

export const ARROWS = { ascending: ' ▴', descending: ' ▾', none: '' }

/** Why some orders are not offered. */
export const sortHint = ({ canLoadAll }: Sorting): string =>
  `Sorting by RAM, SLA… ${canLoadAll ? 'needs all listings loaded' : `works up to ${MAX_ROWS.toLocaleString('en')} listings`}.`

type TableRowProps = ListingTableProps &
  Line & {
    columns: readonly Order[]
    /** By column. */
    units: ReadonlyMap<string, string | null>
    index: number
    now: number
  }

function TableRow(props: TableRowProps) {
  const { row, columns, units, index, now, sorting, tokens, navigation, picked, onPick, places, isOpen } =
    props
  const isPicked = picked.some(({ id, registry }) => id === row.id && registry === row.registry)
  const offer = untrustedText(row.offer)
  const { pricePer } = sorting.listingView
  return html`<tr role="row" aria-rowindex=${index} class=${places === 0 && 'member'} onClick=${openBeside(navigation, row)}>
    <td role="cell" class="pick">
      <label class="choice"><input type="checkbox" checked=${isPicked} disabled=${!isPicked && picked.length === MAX_COMPARED} onChange=${() => onPick(row)} /> <span>Compare<span class="unseen"> ${offer}</span></span></label>
    </td>
    ${columns.map(({ name, title, cell }) => {
      const content = cell!({ row, pricePer, tokens, navigation, now, unit: units.get(name) ?? null })
      return name === 'offer'
        ? html`<th role="rowheader" scope="row" class=${name}>${content}${newsOf(props)}${places > 1 && html`<${Unfold} ...${props} />`}</th>`
        : html`<td role="cell" class=${name} data-label=${title(sorting.listingView)}>${name === 'region' && places > 1 && !isOpen ? html`<strong>${places} places</strong>` : content}</td>`
    })}
    <td role="cell" class="links">
      <${Storefront} url=${row.storefrontUrl} />
    </td>
  </tr>`
}

/** A second click selects a word. */
const DOUBLE_CLICK_MS = 300
let opening = 0

/** A click beside links and controls opens the sheet, unless another click follows or text is selected. */
const openBeside =
  ({ go }: Navigation, row: ListingRow) =>
  ({ target, detail }: MouseEvent): void => {
    clearTimeout(opening)
    if (detail !== 1 || (target as Element).closest('a, button, label') !== null) return
    const open = (): void => {
      if (getSelection()?.isCollapsed !== false) go({ open: row })
    }
    opening = setTimeout(open, DOUBLE_CLICK_MS)
  }

function newsOf({ row: { id }, news: { listed, gone } }: TableRowProps) {
  const word = listed.has(id) ? 'changed' : gone.has(id) ? 'gone' : null
  return word !== null && html` <span class="chip">${word}</span>`
}

const Unfold = ({ row, places, isOpen, toggle }: Line) =>
  html`<button type="button" class="quiet unfold" aria-expanded=${isOpen} onClick=${toggle}>
    ${isOpen ? '▾' : '▸'} same terms in ${places} places<span class="unseen">: ${untrustedText(row.offer)}</span>
  </button>`
