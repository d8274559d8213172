import type { JsonObject } from '../../../json/value.ts'
import { buildRecord, UnpresentableError } from '../../../presentation/build-record.ts'
import { NO_STOREFRONT_ANSWER } from '../../../presentation/observation.ts'
import type { LifecycleStep, PresentationRecord } from '../../../presentation/record.ts'
import { Tone, type ToneName } from '../../common/tone.ts'
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
    const found = { listing, registry: registry ?? location.origin, publisher }
    return buildRecord(found, NO_STOREFRONT_ANSWER)
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
