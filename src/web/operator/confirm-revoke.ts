import { useEffect, useRef } from 'preact/hooks'
import type { ApiKeyJson } from '../../wire/api-key.ts'
import { strangerText } from '../common/untrusted-text.ts'
import { html } from '../html.ts'

type ConfirmRevokeProps = { apiKey: ApiKeyJson; onRevoke: (key: ApiKeyJson) => void; onKeep: () => void }

export function ConfirmRevoke({ apiKey, onRevoke, onKeep }: ConfirmRevokeProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  const { id, name, scope } = apiKey
  return html`<dialog class="confirm" ref=${dialog} aria-labelledby="revoke-title" onClose=${onKeep}>
    <h3 id="revoke-title">Revoke key ${id}?</h3>
    <p>${strangerText(name)} (${scope}) is refused from then on. This cannot be undone.</p>
    <button type="button" autofocus onClick=${onKeep}>Keep it</button>
    <button type="button" class="danger" onClick=${() => onRevoke(apiKey)}>Revoke it</button>
  </dialog>`
}
