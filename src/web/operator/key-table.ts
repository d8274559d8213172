import type { ApiKeyJson } from '../../wire/api-key.ts'
import { strangerText } from '../common/untrusted-text.ts'
import { html } from '../html.ts'

type KeyTableProps = { keys: readonly ApiKeyJson[]; onRevoke: (key: ApiKeyJson) => void }

export function KeyTable({ keys, onRevoke }: KeyTableProps) {
  const active = keys.filter(({ revoked_at }) => revoked_at === null)
  const revoked = keys.filter(({ revoked_at }) => revoked_at !== null)
  return html`
    ${active.length === 0 ? html`<p>There are no active keys.</p>` : html`<${Rows} keys=${active} onRevoke=${onRevoke} />`}
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
  html`<div class="scroll" tabindex="0" role="region" aria-label=${onRevoke ? 'Active keys' : 'Revoked keys'}>
    <table class="keys">
      <thead>
        <tr>
          <th scope="col">Id</th>
          <th scope="col">Name</th>
          <th scope="col">Scope</th>
          <th scope="col">Made</th>
          <th scope="col">${onRevoke ? html`<span class="unseen">Actions</span>` : 'Revoked'}</th>
        </tr>
      </thead>
      <tbody>
        ${keys.map(
          (key) => html`<tr key=${key.id}>
            <td>${key.id}</td>
            <th scope="row">${strangerText(key.name)}</th>
            <td>${key.scope}</td>
            <td><${Instant} of=${key.created_at} /></td>
            <td>
              ${
                onRevoke === undefined
                  ? html`<${Instant} of=${key.revoked_at ?? ''} />`
                  : html`<button type="button" onClick=${() => onRevoke(key)}>
                      Revoke <span class="unseen">key ${key.id}, ${strangerText(key.name)}</span>
                    </button>`
              }
            </td>
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`

/** Timestamps are UTC without a suffix. */
const Instant = ({ of }: { of: string }) =>
  html`<time datetime=${`${of}Z`}>${of.slice(0, 16).replace('T', ' ')} UTC</time>`
