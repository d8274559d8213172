import type { JsonObject } from '../../../json/value.ts'
import { buildRecord, UnpresentableError } from '../../../presentation/build-record.ts'
import { NO_STOREFRONT_ANSWER } from '../../../presentation/observation.ts'
import type { LifecycleStep, PresentationRecord } from '../../../presentation/record.ts'
import { untrustedText } from '../../common/untrusted-text.ts'
import { html } from '../../html.ts'
import type { ListingRow } from '../data/listing-row.ts'

const MAX_LABEL_CHARS = 400

/** From the listing alone: a request would show the storefront which listings a reader opens. */
export function RecordTimeline({ row, listing }: { row: ListingRow; listing: JsonObject }) {
  const record = recordOf(row, listing)
  if (typeof record === 'string') return html`<p class="hint">No record: ${record}.</p>`
  const { lifecycle, delivery, pricing, negotiation, published_at: at } = record
  return html`<ol class="timeline" aria-label="Lifecycle">
      ${Object.entries(lifecycle).map(([name, step]) => html`<${StepEntry} ...${{ name, step, at: name === 'advertised' ? at : null }} />`)}
    </ol>
    <dl class="facts">
      <dt>Negotiation</dt>
      <dd>${PRICE_MODES[pricing.mode]}. ${negotiation.map(entryWords).join('; ')}.</dd>
      <dt>Terms</dt>
      <dd><${Terms} pricing=${pricing} /></dd>
      <dt>Settlement</dt>
      <dd><bdi>${untrustedText(settlementWords(record), MAX_LABEL_CHARS)}</bdi></dd>
      <dt>Delivery</dt>
      <dd>${untrustedText(delivery.modality)}</dd>
    </dl>
    <ol class="timeline" aria-label="Delivery">
      ${DELIVERY_STEPS.map((name) => html`<${StepEntry} ...${{ name, step: delivery[name], at: null }} />`)}
    </ol>
    <p class="hint">
      From the listing alone, ${record.schema}. The board does not request the storefront; <code>entrepot review</code> does.
    </p>`
}

const MAX_TERMS = 20

function Terms({ pricing }: Pick<PresentationRecord, 'pricing'>) {
  const { quantity, constraints } = pricing
  const terms = [...(quantity === null ? [] : [quantity.display]), ...constraints]
  const shown = terms.slice(0, MAX_TERMS)
  return html`<ul class="terms">
    ${shown.map((term) => html`<li><bdi>${untrustedText(term, MAX_LABEL_CHARS)}</bdi></li>`)}
    ${terms.length > MAX_TERMS && html`<li class="hint">and ${terms.length - MAX_TERMS} more</li>`}
    ${terms.length === 0 && html`<li>not stated</li>`}
  </ul>`
}

function recordOf({ registry, publisher }: ListingRow, listing: JsonObject): PresentationRecord | string {
  try {
    const found = { listing, registry: registry ?? location.origin, publisher }
    return buildRecord(found, NO_STOREFRONT_ANSWER)
  } catch (cause) {
    if (cause instanceof UnpresentableError) return cause.message
    throw cause
  }
}

const DELIVERY_STEPS = ['capacity', 'fulfillment', 'credential', 'service'] as const

const PRICE_MODES = {
  listed: 'The listed price is fixed',
  'configured-negotiation': 'The price is negotiated',
}

const entryWords = ({ stage, status, actor }: PresentationRecord['negotiation'][number]): string =>
  `${stage}: ${status === 'shown' ? `by the ${actor ?? 'seller'}` : 'not public'}`

const settlementWords = ({ settlement }: PresentationRecord): string =>
  [settlement.asset_class, settlement.network, settlement.mechanism]
    .filter((text) => text !== null)
    .join(' · ') || 'not stated'

const STATUSES: Readonly<Record<LifecycleStep['status'], string>> = {
  complete: 'done',
  current: 'now',
  'not-started': 'not yet',
  'not-applicable': 'does not apply',
}

const StepEntry = ({ name, step, at }: { name: string; step: LifecycleStep; at: string | null }) =>
  html`<li data-status=${step.status}>
    <strong>${name}</strong>
    <span class="state">${STATUSES[step.status]}</span>
    <span class="hint"><bdi>${untrustedText(step.label, MAX_LABEL_CHARS)}</bdi></span>
    ${at !== null && html`<time datetime=${at}>${at.slice(0, 16).replace('T', ' ')} UTC</time>`}
  </li>`
