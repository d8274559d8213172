import { plural } from '../../../domain/plural.ts'
import { comparePriceKeys } from '../../../domain/price/price-key.ts'
import type { TokenTable } from '../../../domain/price/token.ts'
import { type JsonObject, objectOrEmpty } from '../../../json/value.ts'
import { useModal } from '../../common/modal.ts'
import { shortAddress, untrustedText } from '../../common/untrusted-text.ts'
import { html } from '../../html.ts'
import { formatMember, labelOf, MAX_MEMBERS } from '../members.ts'
import { type Navigation, ViewLink } from '../navigation.ts'
import { PriceLines } from '../payments.ts'
import { chainName, isTestnet, keyIn, kindOf, shownOption } from '../prices.ts'
import { type ListingRow, parseListing } from '../state/listing-row.ts'
import { MAX_COMPARED } from '../view.ts'
import { Storefront } from './columns.ts'

type CompareBarProps = { picked: readonly ListingRow[]; navigation: Navigation; onClear: () => void }

export const CompareBar = ({ picked, navigation, onClear }: CompareBarProps) =>
  picked.length > 0 &&
  html`<section class="compare-bar row box" aria-label="Comparison">
    <span role="status">${picked.length} of ${MAX_COMPARED} chosen</span>
    <button type="button" disabled=${picked.length < 2} onClick=${() => navigation.go({ compared: picked })}>Compare</button>
    <button type="button" class="quiet" onClick=${onClear}>Clear</button>
  </section>`

type CompareDialogProps = {
  rows: readonly ListingRow[]
  /** Listings of the address that could not be loaded. */
  lost: number
  tokens: TokenTable
  navigation: Navigation
}

/** Listings side by side; what differs is marked. */
export function CompareDialog({ rows, lost, tokens, navigation }: CompareDialogProps) {
  const dialog = useModal()
  const offers = rows.map(({ bytes }) => offerOf(bytes))
  const names = [...new Set(offers.flatMap(Object.keys))].slice(0, MAX_MEMBERS)
  const memberOf = (name: string) => (offer: JsonObject) =>
    untrustedText(Object.hasOwn(offer, name) ? formatMember(name, offer[name]!) : '–')
  const line = (label: string, cells: readonly string[]) =>
    html`<tr class=${new Set(cells).size > 1 ? 'differs' : ''}>
      <th scope="row">${label}</th>
      ${cells.map((cell) => html`<td><bdi>${cell}</bdi></td>`)}
    </tr>`
  const head = rows.map(
    (row) =>
      html`<th scope="col"><${ViewLink} ...${{ navigation, change: { open: row } }}><bdi>${untrustedText(row.offer)}</bdi><//></th>`,
  )
  const lowest = lowestOf(rows, tokens)
  const prices = rows.map(
    (row) =>
      html`<td><${PriceLines} ...${{ row, tokens }} isShort />${row === lowest && html`<span class="tone" data-tone="good" style=${{ '--tone': 'var(--good)' }}>lowest</span>`}</td>`,
  )
  const chains = rows.map((row) => {
    const option = shownOption(row, tokens)
    return option === null ? '–' : chainName(option.chain)
  })
  const storefronts = rows.map(({ storefrontUrl: url }) => html`<td><${Storefront} url=${url} /></td>`)
  const registries = rows.map(({ registry }) => untrustedText(registry ?? '–'))
  const sellers = rows.map(({ publisher }) => shortAddress(publisher ?? '–'))
  return html`<dialog ref=${dialog} class="compare" aria-labelledby="compare-title" onClose=${navigation.close}>
    <header>
      <h2 id="compare-title">Compare ${rows.length} listings</h2>
      <form method="dialog"><button type="submit" aria-label="Close" autofocus>✕</button></form>
    </header>
    ${lost > 0 && html`<p class="fault">${plural(lost, 'listing')} of this address left out: no longer listed, or in a registry that you cannot see.</p>`}
    <div class="frame" tabindex="0" role="region" aria-label="Comparison">
      <table>
        <thead><tr><td></td>${head}</tr></thead>
        <tbody>
          <tr class="differs"><th scope="row">Price</th>${prices}</tr>
          ${line('Chain', chains)}
          <tr><th scope="row">Storefront</th>${storefronts}</tr>
          ${line('Registry', registries)} ${line('Seller', sellers)}
          ${names.map((name) => line(untrustedText(labelOf(name)), offers.map(memberOf(name))))}
        </tbody>
      </table>
    </div>
  </dialog>`
}

/** By the price per GPU, or of the whole offer where one has no GPUs; `null` where the prices do not compare. */
function lowestOf(rows: readonly ListingRow[], tokens: TokenTable): ListingRow | null {
  const per = rows.some(({ gpus }) => gpus === null) ? 'offer' : 'gpu'
  const priced = rows.flatMap((row) => {
    const option = row.isOutlier ? null : shownOption(row, tokens)
    if (option === null || isTestnet(option, tokens)) return []
    const key = keyIn(option, row.gpus, per, tokens)
    return key === null ? [] : [{ row, key, kind: kindOf(option, tokens) }]
  })
  if (priced.length < 2 || new Set(priced.map(({ kind }) => kind)).size > 1) return null
  const [first, second] = priced.toSorted((a, b) => comparePriceKeys(a.key, b.key))
  return comparePriceKeys(first!.key, second!.key) === 0 ? null : first!.row
}

const offerOf = (bytes: Uint8Array): JsonObject =>
  objectOrEmpty(objectOrEmpty(parseListing(bytes)).offer_resource)
