import { useEffect, useRef, useState } from 'preact/hooks'
import { KEY_SCOPES, type KeyScope } from '../../../domain/api-key.ts'
import type { MintedKeyJson } from '../../../wire/api-key.ts'
import { CopyButton } from '../../common/copy-button.ts'
import { untrustedText } from '../../common/untrusted-text.ts'
import { html } from '../../html.ts'
import { SCOPE_NAMES } from './key-table.ts'

export type KeyRequest = { name: string; scope: KeyScope; expiresInDays: number | null }

type KeyRequestFormProps = {
  /** Names of active keys. */
  names: ReadonlySet<string>
  /** Whether the key was created. */
  onSubmit: (wanted: KeyRequest) => Promise<boolean>
}

export function KeyRequestForm({ names, onSubmit }: KeyRequestFormProps) {
  const [name, setName] = useState('')
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState('')
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const data = new FormData(event.currentTarget as HTMLFormElement)
    const days = Number(data.get('days'))
    setProblem(name.trim() === '' ? 'Enter a name.' : '')
    if (name.trim() === '') return
    setBusy(true)
    const isCreated = await onSubmit({
      name: name.trim(),
      scope: data.get('scope') as KeyScope,
      expiresInDays: days === 0 ? null : days,
    })
    setBusy(false)
    // What was typed meanwhile stays.
    if (isCreated) setName((current) => (current === name ? '' : current))
  }
  return html`<form class="row" onSubmit=${submit}>
    <label for="key-name">Name</label>
    <input
      id="key-name"
      name="name"
      maxlength="128"
      autocomplete="off"
      value=${name}
      aria-invalid=${problem !== ''}
      aria-describedby="key-name-hint"
      onInput=${({ currentTarget }: { currentTarget: HTMLInputElement }) => setName(currentTarget.value)}
    />
    <label for="key-scope">Access</label>
    <select id="key-scope" name="scope">
      ${KEY_SCOPES.map((scope) => html`<option value=${scope}>${SCOPE_NAMES[scope]}</option>`)}
    </select>
    <label for="key-days">Expires</label>
    <select id="key-days" name="days">
      <option value="0">never</option>
      ${EXPIRY_DAYS.map((days) => html`<option value=${days}>in ${days} days</option>`)}
    </select>
    <button type="submit" disabled=${isBusy}>Create key</button>
    <span id="key-name-hint" role="alert" class=${problem === '' ? 'hint' : 'fault'}>
      ${problem || (names.has(name.trim()) ? 'An active key has this name already.' : '')}
    </span>
  </form>`
}

const EXPIRY_DAYS = [7, 30, 90, 365]

/** The page holds a raw key only while it is shown here. */
export function CreatedKey({
  minted: { id, name, scope, key },
  onDone,
}: {
  minted: MintedKeyJson
  onDone: () => void
}) {
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => field.current?.select(), [])
  return html`<div class="banner minted row" role="group" aria-labelledby=${`minted-${id}`}>
    <h3 id=${`minted-${id}`}>New key for ${untrustedText(name)} (${scope})</h3>
    <p>Copy it now. It will not be shown again.</p>
    <input ref=${field} readonly aria-label=${`The raw key ${id}`} value=${key} spellcheck=${false} />
    <${CopyButton} text=${key} label=${`key ${id}`} />
    <button type="button" onClick=${onDone}>Done <span class="unseen">with key ${id}</span></button>
  </div>`
}
