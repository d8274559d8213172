import { useEffect, useState } from 'preact/hooks'
import type { KeyScope } from '../../domain/api-key.ts'
import type { ApiKeyJson, MintedKeyJson } from '../../wire/api-key.ts'
import { html } from '../html.ts'
import { ConfirmRevoke } from './confirm-revoke.ts'
import { KeyTable } from './key-table.ts'
import { MintForm } from './mint-form.ts'
import { MintedKeyNote } from './minted-key-note.ts'
import type { PanelProps } from './sources-panel.ts'
import { useLifetime } from './use-lifetime.ts'

export function KeysPanel({ api, onError }: PanelProps) {
  const [keys, setKeys] = useState<readonly ApiKeyJson[]>([])
  const [minted, setMinted] = useState<MintedKeyJson | null>(null)
  const [revoking, setRevoking] = useState<ApiKeyJson | null>(null)
  const [news, setNews] = useState('')
  const lifetime = useLifetime()
  const fail =
    (what: string) =>
    (error: unknown): void => {
      if (!lifetime.aborted) setNews(`${what}: ${onError(error)}`)
    }
  const list = (): Promise<void> => api.keys(lifetime).then(setKeys, fail('The keys could not be listed'))
  useEffect(() => void list(), [api])

  const mint = async (name: string, scope: KeyScope): Promise<boolean> => {
    try {
      setMinted(await api.mint(name, scope, lifetime))
      setNews('')
    } catch (error) {
      fail('No key was made')(error)
      return false
    }
    await list()
    return true
  }
  const revoke = async ({ id, name }: ApiKeyJson): Promise<void> => {
    setRevoking(null)
    try {
      await api.revoke(id, lifetime)
      setNews(`Key ${id} (${name}) is revoked.`)
      if (minted?.id === id) setMinted(null)
    } catch (error) {
      fail(`Key ${id} (${name}) was not revoked`)(error)
    }
    await list()
  }
  return html`<section aria-labelledby="keys-title">
    <h2 id="keys-title">API keys</h2>
    <${MintForm} onMint=${mint} />
    ${minted !== null && html`<${MintedKeyNote} key=${minted.id} minted=${minted} onDone=${() => setMinted(null)} />`}
    <p role="status">${news}</p>
    <${KeyTable} keys=${keys} onRevoke=${setRevoking} />
    ${
      revoking !== null &&
      html`<${ConfirmRevoke} apiKey=${revoking} onRevoke=${revoke} onKeep=${() => setRevoking(null)} />`
    }
  </section>`
}
