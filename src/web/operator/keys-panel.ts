import { useEffect, useRef, useState } from 'preact/hooks'
import type { KeyScope } from '../../domain/api-key.ts'
import type { ApiKeyJson, MintedKeyJson } from '../../wire/api-key.ts'
import { CopyButton } from '../common/copy-button.ts'
import { type ScrollColumn, ScrollTable } from '../common/scroll-table.ts'
import { untrustedText } from '../common/untrusted-text.ts'
import { html } from '../html.ts'
import { type PanelProps, useLifetime } from './panel.ts'

export function KeysPanel({ api, onError }: PanelProps) {
  const [keys, setKeys] = useState<readonly ApiKeyJson[]>([])
  const [minted, setMinted] = useState<MintedKeyJson | null>(null)
  const [revoking, setRevoking] = useState<ApiKeyJson | null>(null)
  const [status, setStatus] = useState('')
  const lifetime = useLifetime()
  const fail =
    (what: string) =>
    (error: unknown): void => {
      if (!lifetime.aborted) setStatus(`${what}: ${onError(error)}`)
    }
  const list = (): Promise<void> => api.keys(lifetime).then(setKeys, fail('The keys could not be listed'))
  useEffect(() => void list(), [api])

  const mint = async (name: string, scope: KeyScope): Promise<boolean> => {
    try {
      setMinted(await api.mint(name, scope, lifetime))
      setStatus('')
    } catch (error) {
      fail('The key could not be created')(error)
      return false
    }
    await list()
    return true
  }
  const revoke = async ({ id, name }: ApiKeyJson): Promise<void> => {
    setRevoking(null)
    try {
      await api.revoke(id, lifetime)
      setStatus(`Key ${id} (${name}) is revoked.`)
      if (minted?.id === id) setMinted(null)
    } catch (error) {
      fail(`Key ${id} (${name}) could not be revoked`)(error)
    }
    await list()
  }
  return html`<section aria-labelledby="keys-title">
    <h2 id="keys-title">API keys</h2>
    <${MintForm} onMint=${mint} />
    ${minted !== null && html`<${MintedKeyNote} key=${minted.id} minted=${minted} onDone=${() => setMinted(null)} />`}
    <p role="status">${status}</p>
    <${KeyTable} keys=${keys} onRevoke=${setRevoking} />
    ${
      revoking !== null &&
      html`<${ConfirmRevoke} apiKey=${revoking} onRevoke=${revoke} onCancel=${() => setRevoking(null)} />`
    }
  </section>`
}

type KeyTableProps = { keys: readonly ApiKeyJson[]; onRevoke: (key: ApiKeyJson) => void }

function KeyTable({ keys, onRevoke }: KeyTableProps) {
  const active = keys.filter(({ revoked_at }) => revoked_at === null)
  const revoked = keys.filter(({ revoked_at }) => revoked_at !== null)
  return html`
    ${active.length === 0 ? html`<p>No active keys.</p>` : html`<${Rows} keys=${active} onRevoke=${onRevoke} />`}
    ${
      revoked.length > 0 &&
      html`<details>
        <summary>${revoked.length} revoked</summary>
        <${Rows} keys=${revoked} />
      </details>`
    }
  `
}

const Rows = ({ keys, onRevoke }: { keys: readonly ApiKeyJson[]; onRevoke?: KeyTableProps['onRevoke'] }) =>
  html`<${ScrollTable}
    label=${onRevoke ? 'Active keys' : 'Revoked keys'}
    name="keys"
    columns=${[...COLUMNS, onRevoke ? { title: 'Actions', isHidden: true } : { title: 'Revoked' }]}
  >
    ${keys.map(
      (key) => html`<tr key=${key.id}>
        <td>${key.id}</td>
        <th scope="row">${untrustedText(key.name)}</th>
        <td>${key.scope}</td>
        <td><${Instant} of=${key.created_at} /></td>
        <td>
          ${
            onRevoke === undefined
              ? html`<${Instant} of=${key.revoked_at ?? ''} />`
              : html`<button type="button" onClick=${() => onRevoke(key)}>
                  Revoke <span class="unseen">key ${key.id}, ${untrustedText(key.name)}</span>
                </button>`
          }
        </td>
      </tr>`,
    )}
  <//>`

const COLUMNS: readonly ScrollColumn[] = [
  { title: 'Id' },
  { title: 'Name' },
  { title: 'Scope' },
  { title: 'Created' },
]

/** Timestamps are UTC without a suffix. */
const Instant = ({ of }: { of: string }) =>
  html`<time datetime=${`${of}Z`}>${of.slice(0, 16).replace('T', ' ')} UTC</time>`

type MintFormProps = {
  onMint: (name: string, scope: KeyScope) => Promise<boolean>
}

function MintForm({ onMint }: MintFormProps) {
  const [isBusy, setBusy] = useState(false)
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const form = event.currentTarget as HTMLFormElement
    const data = new FormData(form)
    setBusy(true)
    const isMinted = await onMint(String(data.get('name')), data.get('scope') === 'write' ? 'write' : 'read')
    setBusy(false)
    if (isMinted) form.reset()
  }
  return html`<form class="mint" onSubmit=${submit}>
    <label for="key-name">Name</label>
    <input id="key-name" name="name" required maxlength="128" autocomplete="off" />
    <label for="key-scope">Scope</label>
    <select id="key-scope" name="scope">
      <option value="read">read</option>
      <option value="write">read and write</option>
    </select>
    <button type="submit" disabled=${isBusy}>Mint a key</button>
  </form>`
}

type MintedKeyNoteProps = { minted: MintedKeyJson; onDone: () => void }

/** The page holds the raw key only while this is shown. */
function MintedKeyNote({ minted: { name, scope, key }, onDone }: MintedKeyNoteProps) {
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => field.current?.select(), [])
  return html`<div class="minted" role="group" aria-labelledby="minted-title">
    <h3 id="minted-title">Key for ${untrustedText(name)} (${scope})</h3>
    <p>The key is shown only once. Copy it now.</p>
    <input ref=${field} readonly aria-label="The raw key" value=${key} spellcheck=${false} />
    <${CopyButton} text=${key} label="the key" />
    <button type="button" onClick=${onDone}>Done</button>
  </div>`
}

type ConfirmRevokeProps = { apiKey: ApiKeyJson; onRevoke: (key: ApiKeyJson) => void; onCancel: () => void }

function ConfirmRevoke({ apiKey, onRevoke, onCancel }: ConfirmRevokeProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  const { id, name, scope } = apiKey
  return html`<dialog class="confirm" ref=${dialog} aria-labelledby="revoke-title" onClose=${onCancel}>
    <h3 id="revoke-title">Revoke key ${id}?</h3>
    <p>The key of ${untrustedText(name)} (${scope}) stops working at once. This cannot be undone.</p>
    <button type="button" autofocus onClick=${onCancel}>Cancel</button>
    <button type="button" class="danger" onClick=${() => onRevoke(apiKey)}>Revoke key</button>
  </dialog>`
}
