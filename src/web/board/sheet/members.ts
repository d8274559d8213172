import { isJsonObject, type JsonObject, type JsonValue } from '../../../json/value.ts'
import { strangerText } from '../../common/untrusted-text.ts'
import { html } from '../../html.ts'

/** A seller may send thousands; the JSON below has them all. */
const MAX_MEMBERS = 100
const MAX_VALUE_CHARS = 500

export function Members({ value }: { value: JsonObject }) {
  const members = Object.entries(value)
  if (members.length === 0) return html`<p class="hint">It says nothing that can be laid out.</p>`
  return html`<dl class="facts">
      ${members.slice(0, MAX_MEMBERS).map(
        ([name, member]) =>
          html`<dt>${strangerText(name.replaceAll('_', ' '))}</dt>
            <dd><bdi>${strangerText(plain(member), MAX_VALUE_CHARS)}</bdi></dd>`,
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
