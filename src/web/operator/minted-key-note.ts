import { useEffect, useRef } from 'preact/hooks'
import type { MintedKeyJson } from '../../wire/api-key.ts'
import { CopyButton } from '../common/copy-button.ts'
import { strangerText } from '../common/untrusted-text.ts'
import { html } from '../html.ts'

type MintedKeyNoteProps = { minted: MintedKeyJson; onDone: () => void }

/** The raw key is in the page only while this is shown, and nowhere else. */
export function MintedKeyNote({ minted: { name, scope, key }, onDone }: MintedKeyNoteProps) {
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => field.current?.select(), [])
  return html`<div class="minted" role="group" aria-labelledby="minted-title">
    <h3 id="minted-title">The key for ${strangerText(name)} (${scope})</h3>
    <p>It is shown this once. Hand it over now: it cannot be had again.</p>
    <input ref=${field} readonly aria-label="The raw key" value=${key} spellcheck=${false} />
    <${CopyButton} text=${key} label="the key" />
    <button type="button" onClick=${onDone}>Done</button>
  </div>`
}
