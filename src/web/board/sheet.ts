import { formatDuration } from '../../domain/duration.ts'
import type { TokenTable } from '../../domain/price/token.ts'
import { safeJson } from '../../domain/safe-text.ts'
import { type JsonObject, listAt, objectOrEmpty } from '../../json/value.ts'
import { describeSeller, MAX_SELLER_DEPTH, type SellerOffers } from '../../wire/describe-seller.ts'
import { CopyButton } from '../common/copy-button.ts'
import { useModal } from '../common/modal.ts'
import { TimeAgo } from '../common/time.ts'
import { untrustedText } from '../common/untrusted-text.ts'
import { html } from '../html.ts'
import { BlockForm } from './block-form.ts'
import { formatMember, labelOf, MAX_MEMBERS } from './members.ts'
import { Narrow, type Navigation } from './navigation.ts'
import { Payments, PriceLines, Total } from './payments.ts'
import { useAnswer } from './state/answer.ts'
import { decodeUtf8, type ListingRow, parseListing, warningsOf } from './state/listing-row.ts'
import { Storefront } from './table/columns.ts'

type SheetProps = {
  row: ListingRow
  /** When its Registry was read, in milliseconds since the Unix epoch; `null` where unknown. */
  asOf: number | null
  tokens: TokenTable
  commands: readonly ShownCommand[]
  review: string | null
  navigation: Navigation
  onBlocked: () => void
  apiKey: string | null
}

export function Sheet({ row, asOf, tokens, commands, review, navigation, onBlocked, apiKey }: SheetProps) {
  const dialog = useModal()
  const listing = objectOrEmpty(parseListing(row.bytes))
  const isRent =
    row.options.length === 0 ? row.model !== null : row.options.some(({ unit }) => unit === 'hour')
  // A click beside the dialog has the dialog itself as its target.
  const closeBeside = (event: MouseEvent): void => {
    if (event.target === dialog.current) dialog.current?.close()
  }
  return html`<dialog
    ref=${dialog}
    class="sheet"
    aria-labelledby="sheet-title"
    onClose=${navigation.close}
    onClick=${closeBeside}
  >
    <article class="stack">
      <header>
        <h2 id="sheet-title"><bdi>${untrustedText(row.offer)}</bdi></h2>
        <p class="hint"><code>${untrustedText(row.id)}</code> <${CopyButton} text=${row.id} label="the listing's id" /></p>
        <form method="dialog"><button type="submit" aria-label="Close" autofocus>✕</button></form>
      </header>
      <${PriceLines} ...${{ row, tokens }} />
      <${Total} ...${{ row, tokens }} />
      <${Storefront} url=${row.storefrontUrl} class="action" />
      <ul class="warnings">
        ${warningsOf(row).map(([title, why]) => html`<li><strong>${title}</strong>: ${untrustedText(why)}.</li>`)}
      </ul>
      <details open>
        <summary>How to ${isRent ? 'rent' : 'buy'}</summary>
        <ol class="bullets">
          <li>Ask the seller whether it is still free${review === null ? '.' : ': '}${review !== null && html`<${CommandList} commands=${[{ label: 'review', text: review }]} />`}</li>
          <li>Open the storefront and agree on ${isRent ? 'a duration' : 'an amount'}. What is below are the seller's terms.</li>
          <li>${howToPay(listing)}</li>
        </ol>
      </details>
      <h3>Accepted payments</h3>
      <${Payments} ...${{ row, listing, tokens }} />
      <h3>Listing</h3>
      <${Facts} ...${{ row, asOf, listing, navigation, apiKey }} />
      <h3>Offer</h3>
      <${MemberList} value=${objectOrEmpty(listing.offer_resource)} />
      <details>
        <summary>Raw JSON</summary>
        <${RawJson} bytes=${row.bytes} />
      </details>
      <details>
        <summary>Get this listing by API</summary>
        <${CommandList} commands=${commands} />
      </details>
      <${BlockForm} ...${{ row, onBlocked }} />
    </article>
  </dialog>`
}

/** No more than the listing says. */
function howToPay(listing: JsonObject): string {
  if (listAt(listing, 'accepted_escrows').length === 0)
    return 'Pay as you agree with the seller: the listing names no escrow.'
  return listAt(listing, 'demands').length === 0
    ? 'Pay into the escrow. The listing does not say who decides when the seller gets it: ask the seller first.'
    : 'Pay into the escrow; the seller gets it once the arbiter below confirms delivery.'
}

function Facts({
  row,
  asOf,
  listing,
  navigation,
  apiKey,
}: Pick<SheetProps, 'row' | 'asOf' | 'navigation' | 'apiKey'> & { listing: JsonObject }) {
  const { registry, publisher, address, alsoIn, storefrontUrl, status, createdAt } = row
  const { max_duration_seconds: seconds } = listing
  const narrow = (name: string, value: string | null) => html`<${Narrow} ...${{ navigation, name, value }} />`
  const fact = (label: string, value: unknown) => html`<dt>${label}</dt><dd>${value}</dd>`
  return html`<dl>
    ${registry !== null && fact('Registry', narrow('sources', registry))}
    ${alsoIn.length > 0 && fact('Also in', untrustedText(alsoIn.join(', ')))}
    ${fact(
      'Seller',
      address === null
        ? untrustedText(publisher ?? 'unknown')
        : html`${narrow('publisher', address)} <${CopyButton} text=${address} label="the seller's address" />`,
    )}
    ${address !== null && fact('Seller offers', html`<${SellerLine} ...${{ address, apiKey }} />`)}
    ${fact('Storefront', html`<code>${untrustedText(storefrontUrl ?? 'not stated')}</code>`)}
    ${typeof seconds === 'number' && fact('Longest rent', `up to ${formatDuration(seconds)}`)}
    ${fact('Status', untrustedText(status))}
    ${fact('Listed', createdAt === null ? 'publication date unknown' : html`<${TimeAgo} at=${createdAt} />`)}
    ${asOf !== null && fact('Read from its registry', html`<${TimeAgo} at=${asOf} />`)}
  </dl>`
}

type Offered = {
  items: readonly { created_at?: string }[]
  total_after_filter: number
} & Pick<SellerOffers, 'complete' | 'sources'>

function SellerLine({ address, apiKey: key }: { address: string; apiKey: string | null }) {
  const path = `listings?limit=1&publisher=${encodeURIComponent(address)}`
  const { value: newest, state } = useAnswer<Offered>(path, { key })
  const total = newest?.total_after_filter ?? 0
  const hasOldest = total > 0 && total <= MAX_SELLER_DEPTH
  const { value: last } = useAnswer<Offered>(hasOldest ? `${path}&offset=${total - 1}` : null, { key })
  if (newest === null) return state === 'loading' ? '…' : 'not known now'
  const { complete, sources } = newest
  const oldest = last?.items[0]?.created_at ?? null
  return untrustedText(describeSeller({ total, complete, sources, oldest }), MAX_VALUE_CHARS)
}

const MAX_VALUE_CHARS = 500

function MemberList({ value }: { value: JsonObject }) {
  const members = Object.entries(value)
  if (members.length === 0) return html`<p class="hint">No details.</p>`
  const rows = members
    .slice(0, MAX_MEMBERS)
    .map(
      ([name, member]) =>
        html`<dt>${untrustedText(labelOf(name))}</dt><dd><bdi>${untrustedText(formatMember(name, member), MAX_VALUE_CHARS)}</bdi></dd>`,
    )
  return html`<dl>${rows}</dl>
    ${members.length > MAX_MEMBERS && html`<p class="hint">and ${members.length - MAX_MEMBERS} more</p>`}`
}

/** More would slow the page down; the `curl` command gives all of it. */
const MAX_SHOWN_CHARS = 100_000

/** Exact: invisible characters are JSON escapes, which mean the same. */
function RawJson({ bytes }: { bytes: Uint8Array }) {
  const text = safeJson(decodeUtf8(bytes))
  const isCut = text.length > MAX_SHOWN_CHARS
  return html`<div class="raw">
    <pre tabindex="0" aria-label="JSON of the listing"><code>${isCut ? text.slice(0, MAX_SHOWN_CHARS) : text}</code></pre>
    ${isCut && html`<p class="hint">The first ${MAX_SHOWN_CHARS} of ${text.length} characters.</p>`}
    <${CopyButton} text=${text} label="the JSON" />
  </div>`
}

/** `text` is `null` where a command is not safe to paste. */
type ShownCommand = { label: string; text: string | null }

export const CommandList = ({ commands }: { commands: readonly ShownCommand[] }) =>
  html`<dl class="commands stack">
    ${commands.map(
      ({ label, text }) =>
        html`<div key=${label}><dt>${label}</dt><dd>${text === null ? unsafe() : commandOf(label, text)}</dd></div>`,
    )}
  </dl>`

const unsafe = () =>
  html`<span class="hint">A value has control characters, which a terminal would act on: use curl.</span>`

const commandOf = (label: string, text: string) =>
  html`<pre tabindex="0"><code>${text}</code></pre> <${CopyButton} ...${{ text, label }} />`
