import { useCallback, useEffect, useState } from 'preact/hooks'
import { plural } from '../../domain/plural.ts'
import { timeAgo } from '../../domain/timestamp.ts'
import { describeReason } from '../../wire/describe-missing.ts'
import type { FleetJson, ReloadResultJson } from '../../wire/fleet.ts'
import { type DataColumn, DataTable } from '../common/data-table.ts'
import { ClockTime, clockTime, TimeAgo } from '../common/time.ts'
import { stateWords, Tone } from '../common/tone.ts'
import { html } from '../html.ts'
import { AuditPanel } from './audit-panel.ts'
import { BlocksPanel } from './blocks-panel.ts'
import { formatCount, formatMs, formatShare, TrafficCharts } from './chart.ts'
import { KeysPanel } from './keys-panel.ts'
import { type PanelProps, Section, useAction, useLifetime } from './panel.ts'
import { BREAKER_WORDS, SourcesPanel } from './sources-panel.ts'
import { VocabularyPanel } from './vocabulary-panel.ts'

const POLL_MS = 3000

/** Everything that is polled, and the keys, which are judged by the gateway's clock. */
export function Overview({ api, onError }: PanelProps) {
  const [fleet, setFleet] = useState<FleetJson | null>(null)
  const [answeredAt, setAnsweredAt] = useState('')
  const [problem, setProblem] = useState('')
  const poll = useCallback(
    async (signal: AbortSignal): Promise<void> => {
      try {
        const answer = await api.fleet(signal)
        if (signal.aborted) return
        setFleet(answer)
        setAnsweredAt(clockTime(new Date()))
        setProblem('')
      } catch (error) {
        if (!signal.aborted) setProblem(onError(error))
      }
    },
    [api, onError],
  )
  const pollNow = usePolling(poll)
  const isLost = problem !== ''
  const since = answeredAt === '' ? '' : `Data from ${answeredAt}.`
  return html`
    ${isLost && html`<p class="banner stack failed" role="alert">Connection lost: ${problem} ${since}</p>`}
    ${fleet === null && !isLost && html`<p class="loading">Loading…</p>`}
    ${
      fleet !== null &&
      html`<div class=${isLost ? 'stack live lost' : 'stack live'}>
        <${SourcesPanel} ...${{ fleet, api, onError }} onChange=${pollNow} />
        <${TrafficPanel} fleet=${fleet} />
        <${ReplicasPanel} ...${{ fleet, api, onError }} onChange=${pollNow} />
        <${ChangesPanel} fleet=${fleet} />
        ${fleet.sources.length > 0 && html`<${VocabularyPanel} ...${{ api, onError }} />`}
      </div>`
    }
    ${[BlocksPanel, KeysPanel, AuditPanel].map((Panel) => html`<${Panel} ...${{ api, onError }} now=${Date.parse(fleet?.at ?? '')} />`)}
  `
}

/** Polls while the page is visible; a new `poll` restarts it. Returns a function that polls at once. */
function usePolling(poll: (signal: AbortSignal) => Promise<void>): () => void {
  const [starts, setStarts] = useState(0)
  const pollNow = (): void => setStarts((before) => before + 1)
  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    let timer: ReturnType<typeof setTimeout> | undefined
    const tick = async (): Promise<void> => {
      if (document.visibilityState === 'visible') await poll(signal)
      if (!signal.aborted) timer = setTimeout(tick, POLL_MS)
    }
    void tick()
    document.addEventListener('visibilitychange', pollNow, { signal })
    return () => {
      controller.abort()
      clearTimeout(timer)
    }
  }, [poll, starts])
  return pollNow
}

function TrafficPanel({ fleet: { traffic } }: { fleet: FleetJson }) {
  const { requests, errors, hits, lookups, p50_ms, p95_ms } = traffic.total
  return html`<${Section} id="traffic" title="Traffic of the last 60 minutes">
    <p>
      ${plural(requests, 'request')} · ${plural(errors, 'error')}
      ${p50_ms !== null && ` · p50 ${formatMs(p50_ms)} · p95 ${formatMs(p95_ms!)}`}
      ${lookups > 0 && ` · ${formatShare(hits / lookups)} from the response cache`}
    </p>
    <${TrafficCharts} traffic=${traffic} words=${CHART_WORDS} />
    <p class="hint">
      Listing and publish requests of all replicas. Errors are status 500 and above. Latencies are approximate (up to 20 %
      high): p95 in blue, p50 in front of it.
    </p>
  <//>`
}

const CHART_WORDS = {
  count: 'Requests per minute',
  latency: 'Latency, p95 over p50',
  hits: 'From the response cache',
}

const MAX_CHANGES = 30

const ChangesPanel = ({ fleet: { changes, replicas } }: { fleet: FleetJson }) =>
  html`<${Section} id="changes" title="Changes of state">
    <div class="changes" role="log" aria-live="polite" aria-label="Latest changes" tabindex="0">
      <ol>${changes.slice(0, MAX_CHANGES).map((change) => changeLine(change, replicas.length > 1))}</ol>
    </div>
    ${changes.length === 0 && html`<p class="hint">None since the start.</p>`}
  <//>`

function changeLine(change: FleetJson['changes'][number], hasReplicas: boolean) {
  const { at, replica, registry, part, from, to, reason } = change
  return html`<li key=${[at, replica, registry, part].join(' ')}>
    <${ClockTime} at=${at} /> <b>${registry}</b>: ${wordsOf(part, from)} → ${wordsOf(part, to)}${reason !== null && `, it ${describeReason(reason)}`}
    ${hasReplicas && html` <span class="hint">seen by ${replica}</span>`}
  </li>`
}

const wordsOf = (part: 'state' | 'breaker', value: string): string =>
  part === 'state' ? stateWords(value) : `calls ${BREAKER_WORDS[value] ?? value}`

type ReplicasPanelProps = PanelProps & { fleet: FleetJson; onChange: () => void }

function ReplicasPanel({ fleet, api, onError, onChange }: ReplicasPanelProps) {
  const { news, act } = useAction(onError)
  const lifetime = useLifetime()
  const reload = (): Promise<void> =>
    act('Reloading the configuration', async () => {
      const result = await api.reload(lifetime)
      onChange()
      return describeReload(result)
    })
  const inconsistent = fleet.replicas.filter(({ inconsistencies }) => inconsistencies > 0).map(({ id }) => id)
  return html`<${Section} id="replicas" title="Replicas">
    ${
      inconsistent.length > 0 &&
      html`<p class="banner failed" role="alert">
        The index of ${inconsistent.join(', ')} is inconsistent: readers may see outdated copies of listings. Restart the process and
        report it.
      </p>`
    }
    <p class="row">
      <button type="button" onClick=${reload}>Reload configuration</button>
      ${fleet.replicas.length > 1 && html`<span class="hint">of ${fleet.answered_by}; every replica reloads by itself</span>`}
      <span role="status">${news}</span>
    </p>
    ${fleet.note !== null && html`<p class="hint">This process only. ${fleet.note}</p>`}
    <${DataTable}
      label="Replicas of this gateway"
      name="replicas"
      columns=${COLUMNS}
      rows=${fleet.replicas.map((replica) => ({ key: replica.id, cells: cellsOf(replica, fleet) }))}
    />
  <//>`
}

function describeReload({ upstreams, changed, restart_needed, ms }: ReloadResultJson): string {
  const parts = [
    ['added', upstreams.added],
    ['removed', upstreams.removed],
    ['changed', [...upstreams.changed, ...changed]],
    ['takes effect after a restart', restart_needed],
  ] as const
  const words = parts.filter(([, all]) => all.length > 0).map(([what, all]) => `${what}: ${all.join(', ')}`)
  return `Reloaded in ${formatMs(ms)}: ${words.length === 0 ? 'nothing has changed' : words.join('; ')}.`
}

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
  { title: 'Watchers', isNumber: true },
  { title: 'Sources OK', isNumber: true },
]

/** Two reports are missing. */
const LATE_SECONDS = 10

function cellsOf(replica: FleetJson['replicas'][number], { at, answered_by }: FleetJson) {
  const { id, version, started_at, age_seconds, reload, total, watchers, states } = replica
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
    formatCount(watchers),
    sources === 0 ? '–' : `${states.loaded ?? 0} of ${sources}`,
  ]
}
