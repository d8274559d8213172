import type { JsonValue } from '../../../json/value.ts'
import { linkTarget, MAX_LINE_CHARS, strangerText } from '../../common/untrusted-text.ts'
import { html } from '../../html.ts'

/** A link only to the web. The address is always shown. */
export function ListingLink({ url }: { url: JsonValue | undefined }) {
  if (typeof url !== 'string') return html`<span>none named</span>`
  const target = linkTarget(url)
  const text = strangerText(url, MAX_LINE_CHARS)
  return target === null
    ? html`<span><code>${text}</code> <span class="hint">not a web address</span></span>`
    : html`<a href=${target} target="_blank" rel="noopener noreferrer nofollow ugc">${text}</a>`
}
