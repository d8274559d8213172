import { useState } from 'preact/hooks'
import { html } from '../html.ts'
import { isSendableKey } from './request.ts'

type KeyFormProps = {
  label: string
  isSet: boolean
  onChange: (key: string | null) => void
}

/** Never shows a key again. */
export function KeyForm({ label, isSet, onChange }: KeyFormProps) {
  const [typed, setTyped] = useState('')
  const [fault, setFault] = useState<string | null>(null)
  const submit = (event: Event): void => {
    event.preventDefault()
    const key = typed.trim()
    const isSendable = isSendableKey(key)
    setFault(isSendable ? null : 'A key is printable ASCII without blanks.')
    if (!isSendable) return
    setTyped('')
    onChange(key)
  }
  if (isSet)
    return html`<div class="key">
      <span>${label} in use in this tab</span>
      <button type="button" onClick=${() => onChange(null)}>Forget it</button>
    </div>`
  return html`<form class="key" onSubmit=${submit}>
    <label>
      <span>${label}</span>
      <input
        type="password"
        autocomplete="off"
        spellcheck=${false}
        value=${typed}
        aria-describedby=${fault === null ? undefined : 'key-fault'}
        onInput=${({ currentTarget }: { currentTarget: HTMLInputElement }) => setTyped(currentTarget.value)}
      />
    </label>
    <button type="submit">Use</button>
    ${fault !== null && html`<span class="fault" id="key-fault" role="alert">${fault}</span>`}
  </form>`
}
