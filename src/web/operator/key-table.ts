import { parseTimestamp } from '../../domain/timestamp.ts'
import type { ApiKeyJson } from '../../wire/api-key.ts'
import { type DataColumn, DataTable } from '../common/data-table.ts'
import { useModal } from '../common/modal.ts'
import { TimeAgo } from '../common/time.ts'
import { untrustedText } from '../common/untrusted-text.ts'
import { html } from '../html.ts'
import { Day } from './panel.ts'

/** @param now milliseconds since the Unix epoch; NaN where unknown */
export const isActive = ({ revoked_at, expires_at }: ApiKeyJson, now: number): boolean =>
  revoked_at === null && !(expires_at !== null && millisOf(expires_at) <= now)

const millisOf = (timestamp: string): number => (parseTimestamp(timestamp) ?? 0) / 1000

type KeysProps = { keys: readonly ApiKeyJson[]; now: number }

type ActiveKeysProps = KeysProps & {
  selected: ReadonlySet<number>
  /** The keys among them that are selected. */
  picked: readonly ApiKeyJson[]
  onSelect: (id: number, isSelected: boolean) => void
  onRevoke: (keys: readonly ApiKeyJson[]) => void
}

export function ActiveKeys({ keys, now, selected, picked, onSelect, onRevoke }: ActiveKeysProps) {
  const rows = keys.map((key) => {
    const { id } = key
    const name = untrustedText(key.name)
    const select = html`<label class="choice">
      <input type="checkbox" checked=${selected.has(id)} onChange=${() => onSelect(id, !selected.has(id))} />
      <span class="unseen">Select key ${id}, ${name}</span>
    </label>`
    const revoke = html`<button type="button" onClick=${() => onRevoke([key])}>
      Revoke <span class="unseen">key ${id}, ${name}</span>
    </button>`
    return { key: id, cells: [select, ...commonCells(key, now), revoke] }
  })
  const columns = [{ title: 'Select', isHidden: true }, ...COLUMNS, { title: 'Actions', isHidden: true }]
  return html`<${DataTable} label="Active keys" name="keys" ...${{ columns, rows }} />
    <p>
      <button type="button" aria-disabled=${picked.length === 0 ? 'true' : undefined} onClick=${() => onRevoke(picked)}>
        Revoke selected (${picked.length})
      </button>
    </p>`
}

export const InactiveKeys = ({ keys, now }: KeysProps) =>
  html`<${DataTable}
    label="Revoked and expired keys"
    name="keys"
    columns=${[...COLUMNS, { title: 'Revoked' }]}
    rows=${keys.map((key) => ({
      key: key.id,
      cells: [...commonCells(key, now), html`<${Day} of=${key.revoked_at} none="no, expired" />`],
    }))}
  />`

const COLUMNS: readonly DataColumn[] = [
  { title: 'Name', isHeader: true },
  { title: 'Id', isNumber: true },
  { title: 'Access' },
  { title: 'View' },
  { title: 'Created' },
  { title: 'Expires' },
  { title: 'Last used' },
  { title: 'Calls', isNumber: true },
]

export const RIGHTS_NAMES = {
  read: 'read',
  write: 'read and write',
  metrics: 'metrics only',
  admin: 'operator',
} as const

export const rightsOf = ({ scope, role }: Pick<ApiKeyJson, 'scope' | 'role'>) => role ?? scope ?? 'read'

const commonCells = (
  { id, name, scope, role, view, created_at, expires_at, last_used_at, calls }: ApiKeyJson,
  now: number,
) => [
  untrustedText(name),
  id,
  RIGHTS_NAMES[rightsOf({ scope, role })],
  view ?? '–',
  html`<${Day} of=${created_at} />`,
  html`<${Day} of=${expires_at} none="never" />`,
  last_used_at === null ? 'never' : html`<${TimeAgo} at=${millisOf(last_used_at)} now=${now} />`,
  calls,
]

type ConfirmRevokeProps = { keys: readonly ApiKeyJson[]; onRevoke: () => void; onCancel: () => void }

export function ConfirmRevoke({ keys, onRevoke, onCancel }: ConfirmRevokeProps) {
  const dialog = useModal()
  const isOne = keys.length === 1
  return html`<dialog class="confirm" ref=${dialog} aria-labelledby="revoke-title" onClose=${onCancel}>
    <h3 id="revoke-title">Revoke ${isOne ? `key ${keys[0]!.id}, ${untrustedText(keys[0]!.name)} (${rightsOf(keys[0]!)})` : `${keys.length} keys`}?</h3>
    ${
      !isOne &&
      html`<ul class="bullets">
        ${keys.map((key) => html`<li key=${key.id}>${key.id}: ${untrustedText(key.name)} (${rightsOf(key)})</li>`)}
      </ul>`
    }
    <p>Requests with ${isOne ? 'this key' : 'these keys'} will be rejected at once. This cannot be undone.</p>
    <div class="row">
      <button type="button" autofocus onClick=${onCancel}>Cancel</button>
      <button type="button" class="danger" onClick=${onRevoke}>Revoke ${isOne ? 'key' : 'keys'}</button>
    </div>
  </dialog>`
}
