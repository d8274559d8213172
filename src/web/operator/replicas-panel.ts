import type { FleetJson } from '../../wire/fleet.ts'
import { type DataColumn, DataTable } from '../common/data-table.ts'
import { timeAgo } from '../common/relative-time.ts'
import { TimeAgo } from '../common/time.ts'
import { Tone } from '../common/tone.ts'
import { html } from '../html.ts'
import { formatCount, formatMs, formatShare } from './chart.ts'

export const ReplicasPanel = ({ fleet }: { fleet: FleetJson }) =>
  html`<section id="replicas" class="stack box" aria-labelledby="replicas-title">
    <h2 id="replicas-title">Replicas</h2>
    ${fleet.note !== null && html`<p class="hint">Only the process that answered is shown. ${fleet.note}</p>`}
    <${DataTable}
      label="Replicas of this gateway"
      name="replicas"
      columns=${COLUMNS}
      rows=${fleet.replicas.map((replica) => ({ key: replica.id, cells: cellsOf(replica, fleet) }))}
    />
  </section>`

const COLUMNS: readonly DataColumn[] = [
  { title: 'Replica', isHeader: true },
  { title: 'Version' },
  { title: 'Started' },
  { title: 'Report' },
  { title: 'Configuration' },
  { title: 'Requests', isNumber: true },
  { title: 'Errors', isNumber: true },
  { title: 'p50 / p95', isNumber: true },
  { title: 'From cache', isNumber: true },
  { title: 'Sources OK', isNumber: true },
]

/** Two reports are missing. */
const LATE_SECONDS = 10

function cellsOf(replica: FleetJson['replicas'][number], { at, answered_by }: FleetJson) {
  const { id, version, started_at, age_seconds, reload, total, states } = replica
  const now = Date.parse(at)
  const loadedAgo = timeAgo(Date.parse(reload.at), now)
  const sources = Object.values(states).reduce((sum, count) => sum + count, 0)
  return [
    html`${id} ${id === answered_by && html`<small>answered this request</small>`}`,
    version,
    html`<${TimeAgo} at=${Date.parse(started_at)} now=${now} />`,
    id === answered_by
      ? 'now'
      : html`<${Tone} of=${age_seconds > LATE_SECONDS ? 'warn' : 'good'} text=${`${age_seconds} s ago`} />`,
    reload.error === null
      ? html`<${Tone} of="good" text=${`loaded ${loadedAgo}`} />`
      : html`<${Tone} of="bad" text=${`reload failed ${loadedAgo}`} /> <small>${reload.error}</small>`,
    formatCount(total.requests),
    formatCount(total.errors),
    total.p50_ms === null ? '–' : `${formatMs(total.p50_ms)} / ${formatMs(total.p95_ms!)}`,
    total.lookups === 0 ? '–' : formatShare(total.hits / total.lookups),
    sources === 0 ? '–' : `${states.loaded ?? 0} of ${sources}`,
  ]
}
