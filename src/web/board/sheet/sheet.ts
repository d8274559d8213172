import { useEffect, useRef } from 'preact/hooks'
import { groupDigits } from '../../../domain/price.ts'
import { safeJson } from '../../../domain/safe-text.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../../json/value.ts'
import { objectOrEmpty } from '../../../presentation/observation.ts'
import { CopyButton } from '../../common/copy-button.ts'
import { linkTarget, MAX_LINE_CHARS, untrustedText } from '../../common/untrusted-text.ts'
import { html } from '../../html.ts'
import { CommandList, type ShownCommand } from '../command-list.ts'
import { decodeUtf8, type ListingRow, parseListing } from '../data/listing-row.ts'
import { RecordTimeline } from './record-timeline.ts'

type SheetProps = {
  row: ListingRow
  commands: readonly ShownCommand[]
  onClose: () => void
}

export function Sheet({ row, commands, onClose }: SheetProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    dialog.current?.showModal()
  }, [])
  const listing = objectOrEmpty(parseListing(row.bytes))
  // A click beside the dialog has the dialog itself as its target.
  const closeBeside = (event: MouseEvent): void => {
    if (event.target === dialog.current) dialog.current?.close()
  }
  return html`<dialog
    ref=${dialog}
    class="sheet"
    aria-labelledby="sheet-title"
    onClose=${onClose}
    onClick=${closeBeside}
  >
    <article>
      <header>
        <h2 id="sheet-title"><bdi>${untrustedText(row.offer)}</bdi></h2>
        <p class="hint">listing <code>${untrustedText(row.id)}</code></p>
        <form method="dialog"><button type="submit" aria-label="Close" autofocus>✕</button></form>
      </header>
      <${Summary} ...${{ row, listing }} />
      <h3>Deal lifecycle</h3>
      <${RecordTimeline} ...${{ row, listing }} />
      <h3>Offer</h3>
      <${MemberList} value=${objectOrEmpty(listing.offer_resource)} />
      <h3>JSON from the gateway</h3>
      <${RawJson} bytes=${row.bytes} />
      <h3>Commands</h3>
      <${CommandList} commands=${commands} />
    </article>
  </dialog>`
}

function Summary({ row, listing }: { row: ListingRow; listing: JsonObject }) {
  const { price, registry, publisher, alsoIn } = row
  const cost =
    price === null
      ? 'not advertised'
      : `${groupDigits(price.value)} base units of ${price.token ?? 'an unnamed token'} per ${price.per}`
  return html`<dl class="facts">
    <dt>Price</dt>
    <dd>${untrustedText(cost)}${price?.chain ? html` <span class="hint">on ${untrustedText(price.chain)}</span>` : ''}</dd>
    <dt>Storefront</dt>
    <dd><${ListingLink} url=${listing.storefront_url} /></dd>
    ${
      registry !== null &&
      html`<dt>Registry</dt>
      <dd>${untrustedText(registry)}</dd>`
    }
    ${
      alsoIn.length > 0 &&
      html`<dt>Also in</dt>
      <dd>${untrustedText(alsoIn.join(', '))}</dd>`
    }
    <dt>Publisher</dt>
    <dd><code>${untrustedText(publisher ?? 'unknown')}</code></dd>
    <dt>Status</dt>
    <dd>${untrustedText(row.status)}, published ${untrustedText(row.createdAt ?? 'at an unknown time')}</dd>
    ${WARNINGS.filter(([is]) => is(row)).map(
      ([, title, why]) =>
        html`<dt class="warning">${title}</dt>
          <dd>${typeof why === 'string' ? why : untrustedText(why(row))}</dd>`,
    )}
  </dl>`
}

type Warning = readonly [
  is: (row: ListingRow) => boolean,
  title: string,
  why: string | ((row: ListingRow) => string),
]

const WARNINGS: readonly Warning[] = [
  [
    ({ disputed }) => disputed.length > 0,
    'Disputed',
    ({ disputed }) =>
      `${disputed.join(', ')} has another storefront for this publisher: check it before you pay.`,
  ],
  [
    ({ isIncomplete }) => isIncomplete,
    'Incomplete',
    'A Registry that may have a better copy of this listing did not answer.',
  ],
  [({ isStale }) => isStale, 'Stale', 'The Registry did not answer, so this is an older copy.'],
  [
    ({ differs }) => differs,
    'Differs',
    'Other Registries have this listing with another offer or other escrows.',
  ],
  [
    ({ conflicts }) => conflicts,
    'Same id',
    'Another publisher has a listing with this id: check the publisher.',
  ],
]

/** A link only to the web. The address is always shown. */
function ListingLink({ url }: { url: JsonValue | undefined }) {
  if (typeof url !== 'string') return html`<span>not stated</span>`
  const target = linkTarget(url)
  const text = untrustedText(url, MAX_LINE_CHARS)
  return target === null
    ? html`<span><code>${text}</code> <span class="hint">not a web address</span></span>`
    : html`<a href=${target} target="_blank" rel="noopener noreferrer nofollow ugc">${text}</a>`
}

/** A seller may send thousands; the JSON below has them all. */
const MAX_MEMBERS = 100
const MAX_VALUE_CHARS = 500

function MemberList({ value }: { value: JsonObject }) {
  const members = Object.entries(value)
  if (members.length === 0) return html`<p class="hint">The offer is empty.</p>`
  return html`<dl class="facts">
      ${members.slice(0, MAX_MEMBERS).map(
        ([name, member]) =>
          html`<dt>${untrustedText(name.replaceAll('_', ' '))}</dt>
            <dd><bdi>${untrustedText(plain(member), MAX_VALUE_CHARS)}</bdi></dd>`,
      )}
    </dl>
    ${members.length > MAX_MEMBERS && html`<p class="hint">and ${members.length - MAX_MEMBERS} more</p>`}`
}

function plain(value: JsonValue): string {
  if (value === null) return '–'
  if (Array.isArray(value)) return value.slice(0, MAX_MEMBERS).map(plain).join(', ')
  if (isJsonObject(value))
    return Object.entries(value)
      .slice(0, MAX_MEMBERS)
      .map(([name, member]) => `${name}: ${plain(member)}`)
      .join(', ')
  return String(value)
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
