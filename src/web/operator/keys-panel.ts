import { useEffect, useRef, useState } from 'preact/hooks'
import { KEY_ROLES, KEY_SCOPES, type KeyScope } from '../../domain/api-key.ts'
import type { ApiKeyJson, MintedKeyJson } from '../../wire/api-key.ts'
import { CopyButton } from '../common/copy-button.ts'
import { untrustedText } from '../common/untrusted-text.ts'
import { html } from '../html.ts'
import { ActiveKeys, ConfirmRevoke, InactiveKeys, isActive, RIGHTS_NAMES, rightsOf } from './key-table.ts'
import { type KeyRequest, type MinutelyProps, Section, useLifetime, useNews } from './panel.ts'

export function KeysPanel({ api, onError, now }: MinutelyProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  const { keys, created, news, create, forget, revoke } = useKeys({ api, onError, now })
  const [selected, setSelected] = useState<ReadonlySet<number>>(new Set())
  const [revoking, setRevoking] = useState<readonly ApiKeyJson[]>([])
  const select = (id: number, isSelected: boolean): void =>
    setSelected((before) => (isSelected ? before.union(new Set([id])) : before.difference(new Set([id]))))
  const putAway = (id: number): void => {
    forget([id])
    heading.current?.focus()
  }
  const revokeAll = async (): Promise<void> => {
    setRevoking([])
    const revoked = await revoke(revoking)
    setSelected((before) => before.difference(new Set(revoked)))
    // The row that had the focus is gone.
    if (document.activeElement === document.body) heading.current?.focus({ preventScroll: true })
  }
  const { active = [], inactive = [] } = Object.groupBy(keys ?? [], (key) =>
    isActive(key, now) ? 'active' : 'inactive',
  )
  const picked = active.filter(({ id }) => selected.has(id))
  return html`<${Section} id="keys" title="API keys" heading=${heading}>
    <${KeyRequestForm} names=${new Set(active.map(({ name }) => name))} onSubmit=${create} />
    ${created.map((minted) => html`<${CreatedKey} key=${minted.id} minted=${minted} onDone=${() => putAway(minted.id)} />`)}
    <p role="status">${news}</p>
    ${
      active.length === 0
        ? html`<p>${keys === null ? 'The keys are not listed yet.' : 'No active keys.'}</p>`
        : html`<${ActiveKeys} keys=${active} ...${{ now, selected, picked }} onSelect=${select} onRevoke=${setRevoking} />`
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
      html`<${ConfirmRevoke} keys=${revoking} onRevoke=${revokeAll} onCancel=${() => setRevoking([])} />`
    }
  <//>`
}

function useKeys({ api, onError, now }: MinutelyProps) {
  /** `null` until they were listed. */
  const [keys, setKeys] = useState<readonly ApiKeyJson[] | null>(null)
  const [created, setCreated] = useState<readonly MintedKeyJson[]>([])
  const [news, setNews] = useNews()
  const lifetime = useLifetime()
  const fail = (what: string, error: unknown): void => {
    if (!lifetime.aborted) setNews(`${what}: ${onError(error)}`)
  }
  const lists = useRef(0)
  /** The latest list counts: an older one lacks what was done since. */
  const list = async (): Promise<void> => {
    const turn = ++lists.current
    try {
      const listed = await api.keys(lifetime)
      if (turn === lists.current) setKeys(listed)
    } catch (error) {
      fail('The keys could not be listed', error)
    }
  }
  // Keys are made, used and revoked elsewhere too.
  const minute = Math.floor(now / 60_000) || 0
  useEffect(() => void list(), [api, minute])
  const forget = (ids: readonly number[]): void =>
    setCreated((before) => before.filter(({ id }) => !ids.includes(id)))

  const create = async (request: KeyRequest): Promise<boolean> => {
    setNews('') // the same words again are news
    try {
      const minted = await api.mint(request, lifetime)
      setCreated((before) => [...before, minted])
      setNews(`Created: ${nameOf(minted)}.`)
      void list()
      return true
    } catch (error) {
      fail('The key could not be created', error)
      return false
    }
  }
  /** Resolves to the ids of those that were revoked. */
  const revoke = async (all: readonly ApiKeyJson[]): Promise<readonly number[]> => {
    setNews('')
    const done: ApiKeyJson[] = []
    try {
      for (const key of all) {
        await api.revoke(key.id, lifetime)
        done.push(key)
      }
      setNews(`Revoked: ${done.map(nameOf).join(', ')}.`)
    } catch (error) {
      const { id, name } = all[done.length]!
      fail(`Key ${id} (${untrustedText(name)}) could not be revoked; ${done.length} were`, error)
    }
    const ids = done.map(({ id }) => id)
    forget(ids)
    await list()
    return ids
  }
  return { keys, created, news, create, forget, revoke }
}

const nameOf = ({ id, name }: Pick<ApiKeyJson, 'id' | 'name'>): string => `key ${id} (${untrustedText(name)})`

type KeyRequestFormProps = {
  /** Names of active keys. */
  names: ReadonlySet<string>
  /** Whether the key was created. */
  onSubmit: (request: KeyRequest) => Promise<boolean>
}

function KeyRequestForm({ names, onSubmit }: KeyRequestFormProps) {
  const [name, setName] = useState('')
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState('')
  /** The access; only a scope has a view. */
  const [chosen, setChosen] = useState<string>(KEY_SCOPES[0])
  const role = KEY_ROLES.find((one) => one === chosen)
  /** A name in use that was submitted once. */
  const confirmed = useRef('')
  const type = ({ currentTarget }: { currentTarget: HTMLInputElement }): void => {
    setName(currentTarget.value)
    setProblem('')
  }
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    if (isBusy) return
    const data = new FormData(event.currentTarget as HTMLFormElement)
    const days = Number(data.get('days'))
    const view = String(data.get('view') ?? '').trim() || null
    setProblem(name.trim() === '' ? 'Enter a name.' : '')
    if (name.trim() === '') return
    if (names.has(name.trim()) && confirmed.current !== name) {
      confirmed.current = name
      setProblem(`${SAME_NAME} Create key again makes a second one.`)
      return
    }
    confirmed.current = ''
    setBusy(true)
    const isCreated = await onSubmit({
      name: name.trim(),
      ...(role === undefined ? { scope: chosen as KeyScope, view } : { role }),
      expires_in_days: days === 0 ? null : days,
    })
    setBusy(false)
    // What was typed meanwhile stays.
    if (isCreated) setName((current) => (current === name ? '' : current))
  }
  return html`<form class="row" onSubmit=${submit}>
    <label class="row">Name
      <input
        name="name"
        maxlength="128"
        autocomplete="off"
        value=${name}
        aria-invalid=${problem !== ''}
        aria-describedby="key-name-hint"
        onInput=${type}
      />
    </label>
    <label class="row">Access
      <select value=${chosen} onChange=${({ currentTarget }: { currentTarget: HTMLSelectElement }) => setChosen(currentTarget.value)}>
        ${[...KEY_SCOPES, ...KEY_ROLES].map((one) => html`<option value=${one}>${RIGHTS_NAMES[one]}</option>`)}
      </select>
    </label>
    <label class="row">View
      <input name="view" autocomplete="off" placeholder="of [access] keys" disabled=${role !== undefined} />
    </label>
    <label class="row">Expires
      <select name="days">
        <option value="0">never</option>
        ${EXPIRY_DAYS.map((days) => html`<option value=${days}>in ${days} days</option>`)}
      </select>
    </label>
    <button type="submit" aria-disabled=${isBusy ? 'true' : undefined}>Create key</button>
    <span id="key-name-hint" role="alert" class=${problem === '' ? 'hint' : 'fault'}>
      ${problem || (names.has(name.trim()) ? SAME_NAME : '')}
    </span>
  </form>`
}

const SAME_NAME = 'An active key has this name already.'

const EXPIRY_DAYS = [7, 30, 90, 365]

/** The page holds a raw key only while it is shown here. */
function CreatedKey({ minted, onDone }: { minted: MintedKeyJson; onDone: () => void }) {
  const { id, name, key } = minted
  const field = useRef<HTMLInputElement>(null)
  const [isCopied, setCopied] = useState(false)
  const [asks, setAsks] = useState(false)
  const copied = (): string => {
    setCopied(true)
    return key
  }
  const done = (): void => (isCopied || asks ? onDone() : setAsks(true))
  useEffect(() => {
    // Selecting the key takes the focus, unless the operator has moved it meanwhile.
    if (document.activeElement?.matches('[type=submit], body')) field.current?.select()
  }, [])
  return html`<div class="banner minted row" role="group" aria-labelledby=${`minted-${id}`}>
    <h3 id=${`minted-${id}`}>New key for ${untrustedText(name)} (${rightsOf(minted)})</h3>
    <p role="status">${asks ? 'It was not copied. Done again drops it for good.' : 'Copy it now. It will not be shown again.'}</p>
    <input
      ref=${field}
      readonly
      aria-label=${`The raw key ${id}`}
      value=${key}
      spellcheck=${false}
      onCopy=${() => setCopied(true)}
    />
    <${CopyButton} text=${copied} label=${`key ${id}`} />
    <button type="button" onClick=${done}>Done <span class="unseen">with key ${id}</span></button>
  </div>`
}
