import type { TokenTable } from '../../../domain/price/token.ts'
import { useNow } from '../../common/time.ts'
import { untrustedText } from '../../common/untrusted-text.ts'
import { html } from '../../html.ts'
import { type Navigation, ViewLink } from '../navigation.ts'
import type { ListingRow } from '../state/listing-row.ts'
import { MAX_COMPARED } from '../view.ts'
import { Storefront } from './columns.ts'
import { type Order, ordersOf, type Sorting, sortOf } from './row-order.ts'

export type ListingTableProps = {
  rows: readonly ListingRow[]
  offset: number
  total: number
  sorting: Sorting
  tokens: TokenTable
  navigation: Navigation
  /** Rows to compare. */
  picked: readonly ListingRow[]
  onPick: (row: ListingRow) => void
}

/** Rows are keyed by index: reuse is far faster. Roles are explicit: the phone style removes the table's. */
export function ListingTable(props: ListingTableProps) {
  const { rows, offset, total, sorting } = props
  const now = useNow()
  const columns = ordersOf(sorting).filter(({ cell }) => cell !== null)
  return html`<table role="table" class="listings cards box" aria-rowcount=${total + 1}>
    <caption class="unseen">Listings</caption>
    <thead role="rowgroup">
      <tr role="row" aria-rowindex="1">
        <th role="columnheader" scope="col" class="pick"><span class="unseen">Compare</span></th>
        ${columns.map((column) => html`<${SortHead} ...${props} column=${column} />`)}
        <th role="columnheader" scope="col" class="links"><span class="unseen">Links</span></th>
      </tr>
    </thead>
    <tbody role="rowgroup">
      ${rows.map((row, n) => html`<${TableRow} key=${n} ...${props} ...${{ row, columns, now }} index=${offset + n + 2} />`)}
    </tbody>
  </table>`
}

type SortHeadProps = Pick<ListingTableProps, 'navigation' | 'sorting'> & { column: Order }

function SortHead({ navigation, sorting, column }: SortHeadProps) {
  const { direction, change } = sortOf(column.name, sorting)
  const title = column.title(sorting.listingView)
  const arrow = html`<span class="arrow" aria-hidden="true">${ARROWS[direction]}</span>`
  return html`<th
    role="columnheader"
    scope="col"
    class=${column.name}
    style=${{ width: column.width }}
    aria-sort=${direction}
    title=${change === null ? LOAD_TO_SORT : undefined}
  >
    ${change === null ? title : html`<${ViewLink} ...${{ navigation, change }} control="sort">${title}${arrow}<//>`}
  </th>`
}

export const ARROWS = { ascending: ' ▴', descending: ' ▾', none: '' }
export const LOAD_TO_SORT = 'Sorting by RAM, SLA… needs all listings loaded.'

type TableRowProps = ListingTableProps & {
  row: ListingRow
  columns: readonly Order[]
  index: number
  now: number
}

function TableRow({ row, columns, index, now, sorting, tokens, navigation, picked, onPick }: TableRowProps) {
  const isPicked = picked.some(({ id, registry }) => id === row.id && registry === row.registry)
  const offer = untrustedText(row.offer)
  const { pricePer } = sorting.listingView
  return html`<tr role="row" aria-rowindex=${index}>
    <td role="cell" class="pick">
      <label class="choice"><input type="checkbox" checked=${isPicked} disabled=${!isPicked && picked.length === MAX_COMPARED} onChange=${() => onPick(row)} /> <span>Compare<span class="unseen"> ${offer}</span></span></label>
    </td>
    ${columns.map(({ name, title, cell }) => {
      const content = cell!({ row, pricePer, tokens, navigation, now })
      return name === 'offer'
        ? html`<th role="rowheader" scope="row" class=${name}>${content}</th>`
        : html`<td role="cell" class=${name} data-label=${title(sorting.listingView)}>${content}</td>`
    })}
    <td role="cell" class="links">
      <${Storefront} url=${row.storefrontUrl} />
    </td>
  </tr>`
}
