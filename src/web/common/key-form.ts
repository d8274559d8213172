import { useEffect, useRef, useState } from 'preact/hooks'
import { isSendableKey } from '../../client/request.ts'
import { html } from '../html.ts'

type KeyFormProps = {
  label: string
  isSet: boolean
  /** Why the last key is not in use. */
  refusal?: string | null
  onChange: (key: string | null) => void
}

/** Never shows a key after it was entered. */
export function KeyForm({ label, isSet, refusal = null, onChange }: KeyFormProps) {
  const [typed, setTyped] = useState('')
  const [fault, setFault] = useState<string | null>(null)
  const error = fault ?? refusal
  const focus = useRef<HTMLElement>(null)
  const wasSet = useRef(isSet)
  useEffect(() => {
    // The control that had the focus is gone.
    if (wasSet.current !== isSet) focus.current?.focus()
    wasSet.current = isSet
  }, [isSet])
  const submit = (event: Event): void => {
    event.preventDefault()
    const key = typed.trim()
    const isSendable = isSendableKey(key)
    setFault(isSendable ? null : key === '' ? 'Enter a key.' : 'A key has no spaces or special characters.')
    if (!isSendable) return
    setTyped('')
    onChange(key)
  }
  if (isSet)
    return html`<div class="key row">
      <span>${label} in use (this tab only)</span>
      <button type="button" ref=${focus} onClick=${() => onChange(null)}>Remove key</button>
    </div>`
  return html`<form class="key row" onSubmit=${submit}>
    <label class="row">
      <span>${label}</span>
      <input
        ref=${focus}
        type="password"
        autocomplete="off"
        spellcheck=${false}
        value=${typed}
        aria-describedby=${error === null ? undefined : 'key-error'}
        onInput=${({ currentTarget }: { currentTarget: HTMLInputElement }) => setTyped(currentTarget.value)}
      />
    </label>
    <button type="submit">Apply</button>
    ${error !== null && html`<span class="fault" id="key-error" role="alert">${error}</span>`}
  </form>`
}

/** Where the operator's page keeps its key, also for blocks on the board. */
export const OPERATOR_KEY = 'entrepot.operator-key'

/** The key of one tab: `sessionStorage` is not shared and ends with the tab. `null` where the browser allows none. */
export function readKey(name: string): string | null {
  try {
    return sessionStorage.getItem(name)
  } catch {
    return null
  }
}

/** Where the browser allows no storage, the key has to be typed again after a reload. */
export function writeKey(name: string, key: string | null): void {
  try {
    if (key === null) sessionStorage.removeItem(name)
    else sessionStorage.setItem(name, key)
  } catch {
    // As in `readKey`.
  }
}
