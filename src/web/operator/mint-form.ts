import { useState } from 'preact/hooks'
import type { KeyScope } from '../../domain/api-key.ts'
import { html } from '../html.ts'

type MintFormProps = {
  onMint: (name: string, scope: KeyScope) => Promise<boolean>
}

export function MintForm({ onMint }: MintFormProps) {
  const [isBusy, setBusy] = useState(false)
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const form = event.currentTarget as HTMLFormElement
    const data = new FormData(form)
    setBusy(true)
    const isMade = await onMint(String(data.get('name')), data.get('scope') === 'write' ? 'write' : 'read')
    setBusy(false)
    if (isMade) form.reset()
  }
  return html`<form class="mint" onSubmit=${submit}>
    <label for="key-name">For whom</label>
    <input id="key-name" name="name" required maxlength="128" autocomplete="off" />
    <label for="key-scope">Opens</label>
    <select id="key-scope" name="scope">
      <option value="read">read</option>
      <option value="write">read and write</option>
    </select>
    <button type="submit" disabled=${isBusy}>Mint a key</button>
  </form>`
}
