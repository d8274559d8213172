import type { TokenTable } from '../../../domain/price/token.ts'
import { isFuture } from '../../../domain/timestamp.ts'
import { TimeAgo, useNow } from '../../common/time.ts'
import { linkTarget, shortAddress, untrustedText } from '../../common/untrusted-text.ts'
import { html } from '../../html.ts'
import { canChoose } from '../filters/controls.ts'
import { type Navigation, ViewLink } from '../navigation.ts'
import { amountOf, chainName, safeUnit, shortAmount, shownOption } from '../prices.ts'
import { type ListingRow, warningsOf } from '../state/listing-row.ts'
import { PAGE_ROWS } from '../state/page-loader.ts'
import { MAX_COMPARED, withValue } from '../view.ts'
import { ordersOf, type Sorting, sortOf, titleOfOrder } from './row-order.ts'

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
  return html`<table role="table" class="listings cards box" aria-rowcount=${total + 1}>
    <caption class="unseen">Listings</caption>
    <thead role="rowgroup">
      <tr role="row" aria-rowindex="1">
        <th role="columnheader" scope="col" class="pick"><span class="unseen">Compare</span></th>
        ${ordersOf(sorting)
          .filter((name) => !WITHOUT_COLUMN.has(name))
          .map((name) => html`<${SortHead} ...${props} name=${name} />`)}
        <th role="columnheader" scope="col" class="links"><span class="unseen">Links</span></th>
      </tr>
    </thead>
    <tbody role="rowgroup">
      ${rows.map((row, n) => html`<${TableRow} key=${n} ...${props} ...${{ row, now }} index=${offset + n + 2} />`)}
    </tbody>
  </table>`
}

/** These are among the details of the offer. */
const WITHOUT_COLUMN = new Set(['gpus', 'ram', 'sla'])

type SortHeadProps = Pick<ListingTableProps, 'navigation' | 'sorting'> & { name: string }

function SortHead({ navigation, sorting, name }: SortHeadProps) {
  const { direction, change } = sortOf(name, sorting)
  const title = titleOfOrder(name, sorting.listingView)
  return html`<th role="columnheader" scope="col" class=${name} aria-sort=${direction} title=${change === null ? NARROW_TO_SORT : undefined}>
    ${
      change === null
        ? title
        : html`<${ViewLink} ...${{ navigation, change }} control="sort">
            ${title}<span class="arrow" aria-hidden="true">${ARROWS[direction]}</span>
          <//>`
    }
  </th>`
}

export const ARROWS = { ascending: ' ▴', descending: ' ▾', none: '' }
export const NARROW_TO_SORT = `Narrow to ${PAGE_ROWS} or fewer listings to sort by other columns.`

type TableRowProps = ListingTableProps & { row: ListingRow; index: number; now: number }

function TableRow(props: TableRowProps) {
  const { row, index, now, sorting, navigation, picked, onPick } = props
  const { isMerged, listingView } = sorting
  const { pricePer, hasRegion } = listingView
  const isPicked = picked.some(({ id, registry }) => id === row.id && registry === row.registry)
  const offer = untrustedText(row.offer)
  const details = untrustedText(row.details)
  return html`<tr role="row" aria-rowindex=${index}>
    <td role="cell" class="pick">
      <label class="choice"><input type="checkbox" checked=${isPicked} disabled=${!isPicked && picked.length === MAX_COMPARED} onChange=${() => onPick(row)} /> <span>Compare<span class="unseen"> ${offer}</span></span></label>
    </td>
    <td role="cell" class="price">
      <${Price} ...${props} per=${pricePer} /> <${PaidIn} ...${props} />
    </td>
    <th role="rowheader" scope="row" class="offer">
      <${ViewLink} ...${{ navigation, change: { open: row } }} class="open" title=${offer}><bdi>${offer}</bdi><//>
      <${Flags} row=${row} isFuture=${row.createdAt !== null && isFuture(row.createdAt, now)} />
      <span class="hint details" title=${details}><bdi>${details}</bdi></span>
    </th>
    ${pricePer === 'gpu' && html`<td role="cell" class="whole" data-label="Whole"><${Price} ...${props} per="offer" /></td>`}
    ${
      hasRegion &&
      html`<td role="cell" class="region" data-label="Region">
        <${Narrow} ...${{ navigation, name: 'region', value: row.region }} />
      </td>`
    }
    ${
      isMerged &&
      html`<td role="cell" class="registry" data-label="Registry">
        <${Narrow} ...${{ navigation, name: 'sources', value: row.registry }} />
        ${row.alsoIn.length > 0 && html`<span class="hint" title=${`also in ${untrustedText(row.alsoIn.join(', '))}`}> also in ${untrustedText(row.alsoIn.join(', '))}</span>`}
      </td>`
    }
    <td role="cell" class="seller" data-label="Seller">
      ${
        row.address === null
          ? untrustedText(row.publisher ?? '–')
          : html`<${Narrow} ...${{ navigation, name: 'publisher', value: row.address }} text=${shortAddress(row.address)} />`
      }
    </td>
    <td role="cell" class="listed" data-label="Listed"><${TimeAgo} at=${row.createdAt} /></td>
    <td role="cell" class="links">
      <${Storefront} url=${row.storefrontUrl} />
      <${ViewLink} ...${{ navigation, change: { open: row } }} label=${`How to rent ${offer}`}>How to rent<//>
    </td>
  </tr>`
}

type PriceProps = Pick<TableRowProps, 'row' | 'tokens' | 'sorting'> & { per: 'gpu' | 'offer' }

function Price({ row, tokens, sorting, per }: PriceProps) {
  const option = shownOption(row, tokens)
  if (option === null)
    return html`<span class="hint">${per === sorting.listingView.pricePer ? 'price on request' : '–'}</span>`
  const amount = amountOf(option, row.gpus, per, tokens)
  if (amount === null) return html`<span class="hint">GPU count unknown</span>`
  const symbol = tokens.find(option.chain, option.token)?.symbol
  return html`<strong title=${amount}>${shortAmount(amount)}</strong> <span class="unit">${symbol ?? 'base units'}/${safeUnit(option.unit, per)}</span>`
}

/** What the price is paid in, and how many other options there are. */
function PaidIn({ row, tokens }: Pick<TableRowProps, 'row' | 'tokens'>) {
  const option = shownOption(row, tokens)
  if (option === null) return null
  const isKnown = tokens.find(option.chain, option.token) !== null
  const others = row.options.length - 1
  const text = `${isKnown ? '' : `${shortAddress(option.token)} on `}${chainName(option.chain)}${others > 0 ? `, +${others} more` : ''}`
  return html`<span class="hint" title=${untrustedText(option.token)}>${text}</span>`
}

type NarrowProps = {
  navigation: Navigation
  /** The parameter. */
  name: string
  value: string | null
  text?: string
}

/** A value that narrows the search to it. */
export function Narrow({ navigation, name, value, text }: NarrowProps) {
  if (value === null) return html`<span>–</span>`
  const shown = text ?? untrustedText(value)
  // A source of another gateway comes with that gateway.
  const isSelectable = canChoose(value) && (name !== 'sources' || !/[/,]/.test(value))
  if (!isSelectable) return html`<bdi title=${shown}>${shown}</bdi>`
  const change = { query: withValue(navigation.view.query, name, value) }
  return html`<${ViewLink} ...${{ navigation, change }} class="narrow" title=${untrustedText(value)}><bdi>${shown}</bdi><//>`
}

/** A link only to the web. */
export function Storefront({ url, class: name }: { url: string | null; class?: string }) {
  const target = url === null ? null : linkTarget(url)
  if (target === null) return null
  return html`<a class=${name} href=${target} title=${untrustedText(target)} target="_blank" rel="noopener noreferrer nofollow ugc">Storefront ↗</a>`
}

function Flags({ row, isFuture }: { row: ListingRow; isFuture: boolean }) {
  const flag = (text: string, why?: string) =>
    html`<span class="flag" title=${why}>${text}${why !== undefined && html`<span class="unseen">: ${why}</span>`}</span>`
  return html`${row.status !== 'open' && flag(untrustedText(row.status))}
    ${isFuture && flag('dated in the future', 'The seller or the Registry gives a time that has not come yet')}
    ${warningsOf(row).map(([title, why]) => flag(title, untrustedText(why)))}`
}
