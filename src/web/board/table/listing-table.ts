import { formatPrice } from '../../../domain/price.ts'
import { formatAgeSince } from '../../../domain/timestamp.ts'
import { shortAddress, untrustedText } from '../../common/untrusted-text.ts'
import { html } from '../../html.ts'
import type { ListingRow } from '../data/listing-row.ts'

type ListingTableProps = {
  rows: readonly ListingRow[]
  offset: number
  total: number
  isMerged: boolean
  onOpen: (row: ListingRow) => void
}

/** Rows are keyed by index: reuse is far faster. Roles are explicit: the phone style removes the table's. */
export const ListingTable = ({ rows, offset, total, isMerged, onOpen }: ListingTableProps) =>
  html`<table role="table" class="listings" aria-rowcount=${total + 1}>
    <caption class="unseen">Listings</caption>
    <thead role="rowgroup">
      <tr role="row" aria-rowindex="1">
        <th role="columnheader" scope="col">Offer</th>
        <th role="columnheader" scope="col">Region</th>
        <th role="columnheader" scope="col" class="number" title="Base units of the token that the seller names, for the whole offer">
          Price per hour
        </th>
        <th role="columnheader" scope="col">Token</th>
        ${isMerged && html`<th role="columnheader" scope="col">Registry</th>`}
        <th role="columnheader" scope="col">Publisher</th>
        <th role="columnheader" scope="col" class="number">Age</th>
      </tr>
    </thead>
    <tbody role="rowgroup">
      ${rows.map(
        (row, n) => html`<${TableRow} key=${n} ...${{ row, isMerged, onOpen }} index=${offset + n + 2} />`,
      )}
    </tbody>
  </table>`

type TableRowProps = Pick<ListingTableProps, 'isMerged' | 'onOpen'> & { row: ListingRow; index: number }

function TableRow({ row, index, isMerged, onOpen }: TableRowProps) {
  const { price } = row
  return html`<tr role="row" aria-rowindex=${index} onClick=${() => onOpen(row)}>
    <th role="rowheader" scope="row">
      <button type="button" class="open"><bdi>${untrustedText(row.offer)}</bdi></button>
      <${Flags} row=${row} />
      <span class="hint details"><bdi>${untrustedText(row.details)}</bdi></span>
    </th>
    <td role="cell" data-label="Region"><bdi>${untrustedText(row.region ?? '–')}</bdi></td>
    <td role="cell" data-label="Per hour" class="number price">${untrustedText(formatPrice(price) ?? 'not advertised')}</td>
    <td role="cell" data-label="Token" title=${untrustedText(price?.token ?? '')}>
      ${price?.token ? html`<code>${shortAddress(price.token)}</code>` : '–'}
      <span class="hint"> ${untrustedText(price?.chain ?? '')}</span>
    </td>
    ${
      isMerged &&
      html`<td role="cell" data-label="Registry">
      ${untrustedText(row.registry ?? '')}
      ${row.alsoIn.length > 0 && html`<span class="hint"> also in ${untrustedText(row.alsoIn.join(', '))}</span>`}
    </td>`
    }
    <td role="cell" data-label="Publisher" title=${untrustedText(row.publisher ?? '')}>
      <code>${row.publisher === null ? '–' : shortAddress(row.publisher)}</code>
    </td>
    <td role="cell" data-label="Age" class="number">${formatAgeSince(row.createdAt)}</td>
  </tr>`
}

const FLAGS: readonly (readonly [is: (row: ListingRow) => boolean, text: string, why: string])[] = [
  [({ isStale }) => isStale, 'stale', 'The Registry did not answer, so this is an older copy'],
  [
    ({ differs }) => differs,
    'differs',
    'Other Registries have this listing with another offer or other escrows',
  ],
  [({ conflicts }) => conflicts, 'same id', 'Another publisher has a listing with this id'],
  [
    ({ disputed }) => disputed.length > 0,
    'disputed',
    'A Registry of higher priority has another storefront for this publisher',
  ],
]

const Flags = ({ row }: { row: ListingRow }) => [
  ...(row.status === 'open' ? [] : [html`<span class="flag">${untrustedText(row.status)}</span>`]),
  ...FLAGS.filter(([is]) => is(row)).map(
    ([, text, why]) =>
      html`<span class="flag" title=${why}>${text}<span class="unseen">: ${why}</span></span>`,
  ),
]
