import type { AuditEntryJson } from '../../wire/audit.ts'
import { type DataColumn, DataTable } from '../common/data-table.ts'
import { Tone } from '../common/tone.ts'
import { shortAddress, untrustedText } from '../common/untrusted-text.ts'
import { html } from '../html.ts'
import { type MinutelyProps, Section, useMinutely } from './panel.ts'

/** Who did what: the latest acts, newest first. */
export function AuditPanel({ api, onError, now }: MinutelyProps) {
  const [entries, list, failure] = useMinutely(api.audit, { onError, now })
  return html`<${Section} id="audit" title="Audit log">
    <p class="row">
      <button type="button" onClick=${list}>Read again</button>
      <span class="hint">The latest 100. All of them: <code>entrepot audit --since 90d</code></span>
    </p>
    <p role="status">${failure}</p>
    ${
      entries !== null &&
      entries.length > 0 &&
      html`<${DataTable}
        label="Audit log"
        name="audit"
        columns=${COLUMNS}
        rows=${entries.toReversed().map((entry) => ({ key: entry.at, cells: cellsOf(entry) }))}
      />`
    }
    ${entries?.length === 0 && html`<p>Nothing is recorded yet.</p>`}
  <//>`
}

const COLUMNS: readonly DataColumn[] = [
  { title: 'Act', isHeader: true },
  { title: 'Subject' },
  { title: 'By' },
  { title: 'Time' },
  { title: 'Result' },
  { title: 'Client' },
]

const cellsOf = ({ act, subject, by, publisher, at, result, client }: AuditEntryJson) => [
  act,
  untrustedText(subject),
  untrustedText([by, publisher && shortAddress(publisher)].filter(Boolean).join(', ')),
  html`<time datetime=${`${at}Z`}>${at.slice(0, 19).replace('T', ' ')} UTC</time>`,
  html`<${Tone} of=${result === 'ok' ? 'good' : 'warn'} text=${result} />`,
  client ?? '–',
]
