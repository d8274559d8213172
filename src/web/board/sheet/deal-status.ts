import type { JsonObject } from '../../../json/value.ts'
import { buildRecord, UnpresentableError } from '../../../presentation/build-record.ts'
import { NO_STOREFRONT_ANSWER } from '../../../presentation/observation.ts'
import type { LifecycleStep, PresentationRecord } from '../../../presentation/record.ts'
import { untrustedText } from '../../common/untrusted-text.ts'
import { html } from '../../html.ts'
import type { ListingRow } from '../state/listing-row.ts'

/** From the listing alone: a request would show the storefront which listings a reader opens. */
export function DealStatus({ row, listing }: { row: ListingRow; listing: JsonObject }) {
  const record = recordOf(row, listing)
  if (typeof record === 'string') return html`<p class="hint">No deal status: ${record}.</p>`
  const { lifecycle, delivery } = record
  const steps = [
    ...Object.entries(lifecycle),
    ...DELIVERY_STEPS.map((name) => [name, delivery[name]] as const),
  ]
  return html`<details>
    <summary>Deal status: ${lifecycle.advertised.status === 'current' ? 'advertised' : 'no longer advertised'}; the rest is not checked</summary>
    <ol class="timeline" aria-label="Deal status">
      ${steps.filter(([, { status }]) => status !== 'not-applicable').map(([name, step]) => html`<${Step} ...${{ name, step }} />`)}
    </ol>
    <p class="hint">
      Based on the listing only, ${record.schema}. The board does not request the storefront; <code>entrepot review</code> does.
    </p>
  </details>`
}

const DELIVERY_STEPS = ['capacity', 'fulfillment', 'credential', 'service'] as const

function recordOf({ registry, publisher }: ListingRow, listing: JsonObject): PresentationRecord | string {
  try {
    const found = { listing, registry: registry ?? location.origin, publisher }
    return buildRecord(found, NO_STOREFRONT_ANSWER)
  } catch (cause) {
    if (cause instanceof UnpresentableError) return cause.message
    throw cause
  }
}

const MAX_LABEL_CHARS = 400

function Step({ name, step: { status, label } }: { name: string; step: LifecycleStep }) {
  const isChecked = status !== 'not-started'
  return html`<li data-status=${status}>
    <strong>${name}</strong>
    <span class="state">${isChecked ? (status === 'current' ? 'now' : 'done') : 'not checked'}</span>
    <span class="hint"><bdi>${isChecked ? untrustedText(label, MAX_LABEL_CHARS) : ''}</bdi></span>
  </li>`
}
