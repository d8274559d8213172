import type { ComponentChildren } from 'preact'
import { describeReason } from '../../../wire/describe-missing.ts'
import type { DataColumn } from '../../common/data-table.ts'
import { TimeAgo } from '../../common/time.ts'
import { SourceState, Tone } from '../../common/tone.ts'
import { html } from '../../html.ts'
import { formatCount, formatMs, formatShare, Sparkbars } from '../chart.ts'
import { describeCalls, type FleetSource, toneOfCalls } from './words.ts'

export const SOURCE_COLUMNS: readonly DataColumn[] = [
  { title: 'Source', isHeader: true },
  { title: 'State' },
  { title: 'Calls' },
  { title: 'Last answer' },
  { title: 'Listings', isNumber: true },
  { title: 'Latency' },
  { title: 'Cache' },
  { title: 'Failures' },
  { title: 'Actions', isHidden: true },
]

type RowOptions = {
  /** By the gateway's clock. */
  now: number
  isOpen: boolean
  onToggle: () => void
  onRefresh: () => void
  onProbe: () => void
}

export function sourceCells(source: FleetSource, options: RowOptions): ComponentChildren[] {
  const { registry, mode, visibility, age_seconds: age, listings, breaker, items } = source
  return [
    html`<button type="button" class="quiet expand" aria-expanded=${options.isOpen} onClick=${options.onToggle}>
        <span aria-hidden="true">${options.isOpen ? '▾' : '▸'}</span> ${registry}
      </button>
      <small>${mode}${visibility === 'private' && ', private'}</small>`,
    html`<${State} source=${source} />`,
    breaker === undefined
      ? '–'
      : html`<${Tone} of=${toneOfCalls(breaker)} text=${describeCalls(breaker, options.now)} />
          ${breaker.failures_in_a_row > 0 && html`<small>${breaker.failures_in_a_row} failures in a row</small>`}`,
    mode === 'local' || age === null
      ? '–'
      : html`<${TimeAgo} at=${options.now - age * 1000} now=${options.now} />`,
    html`${listings === null ? '–' : formatCount(listings)}
      ${
        items !== undefined &&
        items.invalid > 0 &&
        html`<small class="fault">${formatCount(items.invalid)} of ${formatCount(items.received)} received were invalid</small>`
      }`,
    html`<${Latency} source=${source} />`,
    html`<${Cache} source=${source} />`,
    html`<${Failures} source=${source} now=${options.now} />`,
    mode === 'local' ? '' : html`<${Actions} registry=${registry} ...${options} />`,
  ]
}

function State({ source: { state, replicas } }: { source: FleetSource }) {
  const all = Object.values(replicas)
  const same = all.filter((other) => other === state).length
  return html`<${SourceState} state=${state} />
    ${same < all.length && html`<small>at ${same} of ${all.length} replicas</small>`}`
}

function Latency({ source: { calls, traffic } }: { source: FleetSource }) {
  if (calls === undefined || traffic === undefined) return html`–`
  if (calls.ended === 0) return html`not used yet`
  const { p50_ms, p95_ms } = traffic.total
  return html`<${Sparkbars} values=${traffic.minutes.p95_ms} />
    <small>
      ${
        p50_ms === null
          ? `no calls in 60 min; ${formatMs(Math.round(calls.elapsed_ms / calls.ended))} on average before`
          : `p50 ${formatMs(p50_ms)}, p95 ${formatMs(p95_ms!)}`
      }
    </small>`
}

function Cache({ source: { cache } }: { source: FleetSource }) {
  if (cache === undefined) return html`–`
  const hits = cache.fresh + cache.stale
  const lookups = hits + cache.miss
  return html`${
    lookups === 0
      ? 'not used yet'
      : `${formatShare(hits / lookups)} hits (${formatCount(lookups)} ${lookups === 1 ? 'lookup' : 'lookups'})`
  }`
}

function Failures({ source: { last_error: last, traffic }, now }: { source: FleetSource; now: number }) {
  if (last === null) return html`none`
  const { errors = 0, requests = 0 } = traffic?.total ?? {}
  return html`<span>${describeReason(last.reason)}, <${TimeAgo} at=${Date.parse(last.at)} now=${now} /></span>
    <small>${errors === 0 ? 'none in 60 min' : `${formatCount(errors)} of ${formatCount(requests)} calls in 60 min`}</small>`
}

type ActionsProps = Pick<RowOptions, 'onRefresh' | 'onProbe'> & { registry: string }

const Actions = ({ registry, onRefresh, onProbe }: ActionsProps) =>
  html`<div class="row">
    <button type="button" title="Send one request now" onClick=${onProbe}>Probe <span class="unseen">${registry}</span></button>
    <button type="button" title="Clear its cache and fetch it again" onClick=${onRefresh}>
      Refresh <span class="unseen">${registry}</span>
    </button>
  </div>`
