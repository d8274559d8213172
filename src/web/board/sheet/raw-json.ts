import { safeJson } from '../../../domain/safe-text.ts'
import { CopyButton } from '../../common/copy-button.ts'
import { html } from '../../html.ts'
import { textOf } from '../data/listing-row.ts'

/** More would slow the page down; `curl` below has it whole. */
const MAX_SHOWN_CHARS = 100_000

/** Exact: invisible characters are JSON escapes, which mean the same. */
export function RawJson({ bytes }: { bytes: Uint8Array }) {
  const text = safeJson(textOf(bytes))
  const isCut = text.length > MAX_SHOWN_CHARS
  return html`<div class="raw">
    <pre tabindex="0" aria-label="JSON of the listing"><code>${isCut ? text.slice(0, MAX_SHOWN_CHARS) : text}</code></pre>
    ${isCut && html`<p class="hint">The first ${MAX_SHOWN_CHARS} of ${text.length} characters.</p>`}
    <${CopyButton} text=${text} label="the JSON" />
  </div>`
}
