import type { TokenTable } from '../../domain/price/token.ts'
import { safeJson } from '../../domain/safe-text.ts'
import { type JsonObject, objectOrEmpty } from '../../json/value.ts'
import { buildRecord, UnpresentableError } from '../../presentation/build-record.ts'
import { NO_STOREFRONT_ANSWER } from '../../presentation/observation.ts'
import type { LifecycleStep, PresentationRecord } from '../../presentation/record.ts'
import { CopyButton } from '../common/copy-button.ts'
import { useModal } from '../common/modal.ts'
import { TimeAgo } from '../common/time.ts'
import { Tone, type ToneName } from '../common/tone.ts'
import { untrustedText } from '../common/untrusted-text.ts'
import { html } from '../html.ts'
import { formatDuration, formatMember, labelOf, MAX_MEMBERS } from './members.ts'
import { Narrow, type Navigation } from './navigation.ts'
import { Payments, PriceLines, Total } from './payments.ts'
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
}

export function Sheet({ row, asOf, tokens, commands, review, navigation }: SheetProps) {
  const dialog = useModal()
  const listing = objectOrEmpty(parseListing(row.bytes))
  const isRent = row.options.length === 0 || row.options.some(({ unit }) => unit === 'hour')
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
          <li>Open the storefront and agree on ${isRent ? 'a duration' : 'an amount'}. The price and the escrows below are the seller's terms.</li>
          <li>Pay into the escrow; the seller gets it once the arbiter below confirms delivery.</li>
        </ol>
      </details>
      <h3>Accepted payments</h3>
      <${Payments} ...${{ row, listing, tokens }} />
      <h3>Listing</h3>
      <${Facts} ...${{ row, asOf, listing, navigation }} />
      <h3>Offer</h3>
      <${MemberList} value=${objectOrEmpty(listing.offer_resource)} />
      <${DealStatus} ...${{ row, listing }} />
      <details>
        <summary>Raw JSON</summary>
        <${RawJson} bytes=${row.bytes} />
      </details>
      <details>
        <summary>Get this listing by API</summary>
        <${CommandList} commands=${commands} />
      </details>
    </article>
  </dialog>`
}

function Facts({
  row,
  asOf,
  listing,
  navigation,
}: Pick<SheetProps, 'row' | 'asOf' | 'navigation'> & { listing: JsonObject }) {
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
    ${fact('Storefront', html`<code>${untrustedText(storefrontUrl ?? 'not stated')}</code>`)}
    ${typeof seconds === 'number' && fact('Longest rent', `up to ${formatDuration(seconds)}`)}
    ${fact('Status', untrustedText(status))}
    ${fact('Listed', createdAt === null ? 'publication date unknown' : html`<${TimeAgo} at=${createdAt} />`)}
    ${asOf !== null && fact('Read from its registry', html`<${TimeAgo} at=${asOf} />`)}
  </dl>`
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

/** From the listing alone: a request would show the storefront which listings a reader opens. */
function DealStatus({ row, listing }: { row: ListingRow; listing: JsonObject }) {
  const record = recordOf(row, listing)
  if (typeof record === 'string') return html`<p class="hint">No deal status: ${record}.</p>`
  const { lifecycle, delivery } = record
  const steps = [
    ...Object.entries(lifecycle),
    ...DELIVERY_STEPS.map((name) => [name, delivery[name]] as const),
  ]
  return html`<details>
    <summary>${lifecycle.advertised.status === 'current' ? 'No deal yet' : 'No longer advertised'}</summary>
    <dl>
      ${steps.filter(([, { status }]) => status !== 'not-applicable').map(([name, step]) => html`<${Step} ...${{ name, step }} />`)}
    </dl>
    <p class="hint">
      Based on the listing only, ${record.schema}. The board does not request the storefront; <code>entrepot review</code> does.
    </p>
  </details>`
}

const DELIVERY_STEPS = ['capacity', 'fulfillment', 'credential', 'service'] as const

function recordOf({ registry, publisher }: ListingRow, listing: JsonObject): PresentationRecord | string {
  try {
    const observation = { listing, registry: registry ?? location.origin, publisher }
    return buildRecord(observation, NO_STOREFRONT_ANSWER)
  } catch (cause) {
    if (cause instanceof UnpresentableError) return cause.message
    throw cause
  }
}

const MAX_LABEL_CHARS = 400

const STATUSES: Readonly<Record<string, readonly [text: string, tone: ToneName]>> = {
  current: ['now', 'good'],
  'not-started': ['not checked', 'neutral'],
}

function Step({ name, step: { status, label } }: { name: string; step: LifecycleStep }) {
  const [text, tone] = STATUSES[status] ?? ['done', 'good']
  return html`<dt>${name}</dt>
    <dd>
      <${Tone} of=${tone} text=${text} />
      ${status !== 'not-started' && html` <bdi class="hint">${untrustedText(label, MAX_LABEL_CHARS)}</bdi>`}
    </dd>`
}
