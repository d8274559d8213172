import { useEffect, useRef, useState } from 'preact/hooks'
import type { ApiKeyJson, MintedKeyJson } from '../../../wire/api-key.ts'
import { untrustedText } from '../../common/untrusted-text.ts'
import { html } from '../../html.ts'
import { type PanelProps, useLifetime, useNews } from '../panel.ts'
import { ActiveKeys, ConfirmRevoke, InactiveKeys, isActive } from './key-table.ts'
import { CreatedKey, type KeyRequest, KeyRequestForm } from './new-keys.ts'

type KeysPanelProps = PanelProps & {
  /** By the gateway's clock, in milliseconds since the Unix epoch; NaN before its first answer. */
  now: number
}

export function KeysPanel({ api, onError, now }: KeysPanelProps) {
  const [keys, setKeys] = useState<readonly ApiKeyJson[]>([])
  const [created, setCreated] = useState<readonly MintedKeyJson[]>([])
  const [selected, setSelected] = useState<ReadonlySet<number>>(new Set())
  const [revoking, setRevoking] = useState<readonly ApiKeyJson[]>([])
  const [news, setNews] = useNews()
  const heading = useRef<HTMLHeadingElement>(null)
  const lifetime = useLifetime()
  const fail =
    (what: string) =>
    (error: unknown): void => {
      if (!lifetime.aborted) setNews(`${what}: ${onError(error)}`)
    }
  const list = (): Promise<void> => api.keys(lifetime).then(setKeys, fail('The keys could not be listed'))
  useEffect(() => void list(), [api])

  const create = async (wanted: KeyRequest): Promise<boolean> => {
    try {
      const minted = await api.mint(wanted, lifetime)
      setCreated((before) => [...before, minted])
      setNews('')
    } catch (error) {
      fail('The key could not be created')(error)
      return false
    }
    await list()
    return true
  }
  const forget = (ids: readonly number[]): void => {
    setCreated((before) => before.filter(({ id }) => !ids.includes(id)))
    heading.current?.focus()
  }
  const revoke = async (): Promise<void> => {
    setRevoking([])
    const done: ApiKeyJson[] = []
    try {
      for (const key of revoking) {
        await api.revoke(key.id, lifetime)
        done.push(key)
      }
      setNews(`Revoked: ${done.map(({ id, name }) => `key ${id} (${untrustedText(name)})`).join(', ')}.`)
    } catch (error) {
      const next = revoking[done.length]!
      fail(`Key ${next.id} (${untrustedText(next.name)}) could not be revoked; ${done.length} were`)(error)
    }
    setSelected(new Set())
    forget(done.map(({ id }) => id))
    await list()
  }
  const select = (id: number, isSelected: boolean): void =>
    setSelected((before) => (isSelected ? before.union(new Set([id])) : before.difference(new Set([id]))))

  const { active = [], inactive = [] } = Object.groupBy(keys, (key) =>
    isActive(key, now) ? 'active' : 'inactive',
  )
  const picked = active.filter(({ id }) => selected.has(id))
  return html`<section id="keys" class="stack box" aria-labelledby="keys-title">
    <h2 id="keys-title" ref=${heading} tabindex="-1">API keys</h2>
    <${KeyRequestForm} names=${new Set(active.map(({ name }) => name))} onSubmit=${create} />
    ${created.map((minted) => html`<${CreatedKey} key=${minted.id} minted=${minted} onDone=${() => forget([minted.id])} />`)}
    <p role="status">${news}</p>
    ${
      active.length === 0
        ? html`<p>No active keys.</p>`
        : html`<${ActiveKeys} keys=${active} ...${{ now, selected }} onSelect=${select} onRevoke=${setRevoking} />
            <p>
              <button type="button" disabled=${picked.length === 0} onClick=${() => setRevoking(picked)}>
                Revoke selected (${picked.length})
              </button>
            </p>`
    }
    ${
      inactive.length > 0 &&
      html`<details>
        <summary>${inactive.length} revoked or expired</summary>
        <${InactiveKeys} keys=${inactive} now=${now} />
      </details>`
    }
    ${
      revoking.length > 0 &&
      html`<${ConfirmRevoke} keys=${revoking} onRevoke=${revoke} onCancel=${() => setRevoking([])} />`
    }
  </section>`
}
