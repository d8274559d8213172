import { plural } from '../../domain/plural.ts'
import { describeReason } from '../../wire/describe-missing.ts'
import { ClockTime } from '../common/time.ts'
import { stateWords } from '../common/tone.ts'
import { untrustedText } from '../common/untrusted-text.ts'
import { html } from '../html.ts'
import { formatCount, TrafficCharts } from './chart.ts'
import type { FleetSource } from './panel.ts'

export function SourceDetailsView({ source }: { source: FleetSource }) {
  const { registry, traffic, settings = {}, failures = [], gaps = [] } = source
  const settingRows = Object.entries(settings).map(
    ([name, value]) => [name, name === 'api_key' ? (value ? 'set' : 'none') : String(value)] as const,
  )
  const failureLine = (failure: SourceFailure, n: number) =>
    html`<li key=${n}><${ClockTime} at=${failure.at} /> ${describeFailure(failure)} <code>${failure.reason}</code></li>`
  const gapLine = ({ registry: name, reason }: (typeof gaps)[number]) =>
    html`<li key=${name}>${untrustedText(name)}${reason !== undefined && `: ${describeReason(reason)}`}</li>`
  return html`<div class="drill stack">
    ${traffic !== undefined && html`<${TrafficCharts} traffic=${traffic} words=${CHART_WORDS} />`}
    <div class="columns">
      <div>
        <h3>Settings in effect</h3>
        <${Terms} rows=${settingRows} />
      </div>
      <div>
        <h3>Counts since the start</h3>
        <${Terms} rows=${countsOf(source)} />
        <p><a href=${`./?sources=${encodeURIComponent(registry)}`}>Its listings on the board</a></p>
      </div>
      <div>
        <h3>Last failures</h3>
        ${failures.length === 0 && html`<p>None.</p>`}
        <ol>${failures.map(failureLine)}</ol>
      </div>
      ${gaps.length > 0 && html`<div><h3>Missing behind this gateway</h3><ul>${gaps.map(gapLine)}</ul></div>`}
    </div>
  </div>`
}

type SourceFailure = NonNullable<FleetSource['failures']>[number]

/** The reason, and the cause in words of the upstream or its server. */
export const describeFailure = ({ reason, detail }: SourceFailure): string =>
  `${describeReason(reason)}: ${untrustedText(detail)}`

const CHART_WORDS = {
  count: 'Calls per minute',
  latency: 'Latency of calls, p95 over p50',
  hits: 'Cache hits',
}

function countsOf(source: FleetSource): Row[] {
  const { calls, items, bytes, filters, mode, schema_id, replicas, certificate_ends_at: endsAt } = source
  const reasons = Object.entries(calls?.failures_by_reason ?? {}).map(([reason, n]) => `${reason} ${n}×`)
  return [
    ['calls', `${formatCount(calls?.made ?? 0)}, ${formatCount(calls?.retried ?? 0)} of them retries`],
    ['failed', reasons.length === 0 ? 'none' : reasons.join(', ')],
    [
      'received',
      `${formatCount(items?.received ?? 0)} listings, ${formatCount(items?.invalid ?? 0)} of them invalid`,
    ],
    ['memory', `${formatCount(bytes ?? 0)} bytes`],
    ...(endsAt ? [['certificate until', endsAt.slice(0, 10)] as const] : []),
    ...(mode === 'local' ? [] : [['changes', describeFollowed(source)] as const]),
    ['schema', schema_id === null ? 'not declared' : untrustedText(schema_id)],
    ['filters', filters === null ? 'not known' : untrustedText(filters.join(', '), MAX_FILTERS_CHARS)],
    ...Object.entries(replicas).map(([id, state]): Row => [id, stateWords(state)]),
  ]
}

function describeFollowed({ followed, missed_changes: missed = 0 }: FleetSource): string {
  const how =
    followed === undefined
      ? 'by its pulls: no stream is open'
      : `by its stream, heard ${followed.behind_seconds} s ago`
  return missed === 0 ? how : `${how}; ${plural(missed, 'listing')} missed`
}

type Row = readonly [name: string, value: string]

const Terms = ({ rows }: { rows: readonly Row[] }) =>
  html`<dl>${rows.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`

const MAX_FILTERS_CHARS = 400
