import { useEffect, useRef } from 'preact/hooks'
import { grouped } from '../../../domain/price.ts'
import type { JsonObject } from '../../../json/value.ts'
import { objectOrEmpty } from '../../../presentation/observation.ts'
import { strangerText } from '../../common/untrusted-text.ts'
import { html } from '../../html.ts'
import { Commands } from '../commands-view.ts'
import { parseListing, type Row } from '../data/listing-row.ts'
import { ListingLink } from './listing-link.ts'
import { Members } from './members.ts'
import { RawJson } from './raw-json.ts'
import { RecordTimeline } from './record-timeline.ts'

type SheetProps = {
  row: Row
  commands: readonly { label: string; text: string | null }[]
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
        <h2 id="sheet-title"><bdi>${strangerText(row.offer)}</bdi></h2>
        <p class="hint">listing <code>${strangerText(row.id)}</code></p>
        <form method="dialog"><button type="submit" aria-label="Close" autofocus>✕</button></form>
      </header>
      <${Summary} ...${{ row, listing }} />
      <h3>Where a deal would stand</h3>
      <${RecordTimeline} ...${{ row, listing }} />
      <h3>Offer</h3>
      <${Members} value=${objectOrEmpty(listing.offer_resource)} />
      <h3>As the gateway serves it</h3>
      <${RawJson} bytes=${row.bytes} />
      <h3>The same elsewhere</h3>
      <${Commands} commands=${commands} />
    </article>
  </dialog>`
}

function Summary({ row, listing }: { row: Row; listing: JsonObject }) {
  const { price, registry, publisher, alsoIn } = row
  const cost =
    price === null
      ? 'not advertised'
      : `${grouped(price.value)} base units of ${price.token ?? 'an unnamed token'} per ${price.per}`
  return html`<dl class="facts">
    <dt>Price</dt>
    <dd>${strangerText(cost)}${price?.chain ? html` <span class="hint">on ${strangerText(price.chain)}</span>` : ''}</dd>
    <dt>Storefront</dt>
    <dd><${ListingLink} url=${listing.storefront_url} /></dd>
    ${
      registry !== null &&
      html`<dt>Registry</dt>
      <dd>${strangerText(registry)}</dd>`
    }
    ${
      alsoIn.length > 0 &&
      html`<dt>Also in</dt>
      <dd>${strangerText(alsoIn.join(', '))}</dd>`
    }
    <dt>Publisher</dt>
    <dd><code>${strangerText(publisher ?? 'not known')}</code></dd>
    <dt>Status</dt>
    <dd>${strangerText(row.status)}, published ${strangerText(row.createdAt ?? 'at no known time')}</dd>
    ${WARNINGS.filter(([is]) => is(row)).map(
      ([, title, why]) =>
        html`<dt class="warning">${title}</dt>
          <dd>${typeof why === 'string' ? why : strangerText(why(row))}</dd>`,
    )}
  </dl>`
}

type Warning = readonly [is: (row: Row) => boolean, title: string, why: string | ((row: Row) => string)]

const WARNINGS: readonly Warning[] = [
  [
    ({ disputed }) => disputed.length > 0,
    'Disputed',
    ({ disputed }) =>
      `${disputed.join(', ')} has this publisher at another storefront: check it before you pay.`,
  ],
  [
    ({ isIncomplete }) => isIncomplete,
    'Not complete',
    'A Registry that may have a better copy of this listing did not answer.',
  ],
  [
    ({ isStale }) => isStale,
    'Old copy',
    'Its Registry did not answer just now; this is what it said before.',
  ],
  [
    ({ differs }) => differs,
    'Differs',
    'Other Registries have this listing with another offer or other escrows.',
  ],
  [
    ({ conflicts }) => conflicts,
    'Same id',
    'Another publisher has a listing of this id: look at who signed.',
  ],
]
