import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { plural } from '../../domain/plural.ts'
import type { FleetJson } from '../../wire/fleet.ts'
import { type DataColumn, DataTable } from '../common/data-table.ts'
import { TimeAgo } from '../common/time.ts'
import { SourceState, stateWords, Tone, type ToneName } from '../common/tone.ts'
import { html } from '../html.ts'
import { formatCount, formatMs, Sparkbars } from './chart.ts'
import { type FleetSource, type PanelProps, Section, useAction, useLifetime } from './panel.ts'
import { describeFailure, SourceDetailsView } from './source-details.ts'

type SourcesPanelProps = PanelProps & { fleet: FleetJson; onChange: () => void }

export const SourcesPanel = (props: SourcesPanelProps) =>
  html`<${Section} id="sources" title="Sources">
    ${
      props.fleet.sources.length === 0
        ? html`<p>This is a plain Registry: it has no upstreams.</p>`
        : html`<${SourceList} ...${props} />`
    }
  <//>`

function SourceList(props: SourcesPanelProps) {
  const { sources } = props.fleet
  const { news, refresh, probe } = useSourceActions(props)
  const [text, setText] = useState('')
  const [isWhole, setWhole] = useState(false)
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set())
  const toggle = (registry: string): void =>
    setOpened((before) => before.symmetricDifference(new Set([registry])))
  const matching = byTrouble(sources).filter(({ registry }) => registry.includes(text.trim().toLowerCase()))
  const rows = (isWhole ? matching : matching.slice(0, SHOWN_AT_FIRST)).map((source) => {
    const { registry } = source
    const isOpen = opened.has(registry)
    const actions = {
      onToggle: () => toggle(registry),
      onRefresh: () => void refresh(registry),
      onProbe: () => void probe(registry),
    }
    return {
      key: registry,
      cells: sourceCells(source, { now: Date.parse(props.fleet.at), isOpen, ...actions }),
      details: isOpen ? html`<${SourceDetailsView} source=${source} />` : undefined,
    }
  })
  return html`<p class="summary row">
      <strong>${summaryOf(sources)}</strong>
      <label class="row">
        Filter
        <input type="search" value=${text} onInput=${({ currentTarget }: { currentTarget: HTMLInputElement }) => setText(currentTarget.value)} />
      </label>
    </p>
    <p class="row"><span class="hint">The best first, with priorities: ${rankingOf(sources)}</span> <span role="status">${news}</span></p>
    ${
      rows.length === 0
        ? html`<p>No source has this in its name.</p>`
        : html`<${DataTable} label="All sources" name="sources" columns=${COLUMNS} rows=${rows} />`
    }
    ${
      matching.length > SHOWN_AT_FIRST &&
      html`<p>
        <button type="button" aria-expanded=${isWhole} onClick=${() => setWhole(!isWhole)}>
          ${isWhole ? 'Show fewer' : `Show all ${matching.length}`}
        </button>
      </p>`
    }`
}

function useSourceActions({ api, onError, onChange }: SourcesPanelProps) {
  const { news, act } = useAction(onError)
  const lifetime = useLifetime()
  const refresh = (registry: string) =>
    act(`Refreshing ${registry}`, async () => {
      const before = await callsNow(registry)
      await api.refresh(registry, lifetime)
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        await new Promise((resolve) => setTimeout(resolve, TRY_MS))
        const now = await callsNow(registry)
        if (now.ended === before.ended) continue
        onChange()
        return describeFetch(registry, now, now.elapsed_ms - before.elapsed_ms)
      }
      onChange()
      return `${registry}: its cache is empty, and it has not answered yet`
    })
  const callsNow = async (registry: string): Promise<SourceCalls> => {
    const { sources } = await api.fleet(lifetime)
    const source = sources.find((one) => one.registry === registry)
    return { ended: 0, elapsed_ms: 0, ...source?.calls, source }
  }
  const probe = (registry: string) =>
    act(`Probing ${registry}`, async () => {
      const { state, last_error } = await api.probe(registry, lifetime)
      const why = state === 'loaded' || last_error === null ? '' : `, it ${describeFailure(last_error)}`
      return `${registry}: ${stateWords(state)}${why}`
    })
  return { news, refresh, probe }
}

type SourceCalls = { ended: number; elapsed_ms: number; source: FleetSource | undefined }

function describeFetch(registry: string, { source }: SourceCalls, ms: number): string {
  if (source?.state !== 'loaded')
    return `${registry}: ${source?.last_error ? `it ${describeFailure(source.last_error)}` : 'no answer yet'}`
  const { listings } = source
  return `${registry}: fetched${listings === null ? '' : ` ${plural(listings, 'listing')}`} in ${formatMs(Math.round(ms))}`
}

const TRY_MS = 250
const MAX_TRIES = 40

const SHOWN_AT_FIRST = 12

const COLUMNS: readonly DataColumn[] = [
  { title: 'Source', isHeader: true },
  { title: 'State' },
  { title: 'Calls' },
  { title: 'Last answer' },
  { title: 'Listings', isNumber: true },
  { title: 'Latency' },
  { title: 'Memory' },
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

function sourceCells(source: FleetSource, options: RowOptions): ComponentChildren[] {
  const { registry, mode, visibility, age_seconds: age, followed, bytes } = source
  const { now, isOpen, onToggle, onProbe, onRefresh } = options
  const about = [mode, followed && 'followed', visibility === 'private' && 'private']
    .filter(Boolean)
    .join(', ')
  const ofRegistry = html`<span class="unseen">${registry}</span>`
  const actions = html`<div class="row">
    <button type="button" title="Send one request now" onClick=${onProbe}>Probe ${ofRegistry}</button>
    <button type="button" title="Fetch it again" onClick=${onRefresh}>Refresh ${ofRegistry}</button>
  </div>`
  return [
    html`<button type="button" class="quiet expand" aria-expanded=${isOpen} onClick=${onToggle}>
        <span aria-hidden="true">${isOpen ? '▾' : '▸'}</span> ${registry}
      </button>
      <small>${about}</small>`,
    stateOf(source),
    callsOf(source, now),
    mode === 'local' || age === null ? '–' : html`<${TimeAgo} at=${now - age * 1000} now=${now} />`,
    listingsOf(source),
    latencyOf(source),
    bytes === undefined ? '–' : formatBytes(bytes),
    failuresOf(source, now),
    mode === 'local' ? '' : actions,
  ]
}

function callsOf({ breaker }: FleetSource, now: number) {
  if (breaker === undefined) return '–'
  const { failures_in_a_row: failures } = breaker
  return html`<${Tone} of=${toneOfCalls(breaker)} text=${describeCalls(breaker, now)} />
    ${failures > 0 && html`<small>${plural(failures, 'failure')} in a row</small>`}`
}

function listingsOf({ listings, of, items }: FleetSource) {
  const { invalid = 0, received = 0 } = items ?? {}
  return html`${listings === null ? '–' : formatCount(listings)}${of !== undefined && ` of ${formatCount(of)}`}
    ${invalid > 0 && html`<small class="fault">${formatCount(invalid)} of ${formatCount(received)} received were invalid</small>`}`
}

function stateOf({ state, replicas }: FleetSource) {
  const all = Object.values(replicas)
  const same = all.filter((other) => other === state).length
  return html`<${SourceState} state=${state} />
    ${same < all.length && html`<small>at ${same} of ${all.length} replicas</small>`}`
}

function latencyOf({ calls, traffic }: FleetSource) {
  if (calls === undefined || traffic === undefined) return '–'
  if (calls.ended === 0) return 'not used yet'
  const { p50_ms, p95_ms } = traffic.total
  const words =
    p50_ms === null
      ? `no calls in 60 min; ${formatMs(Math.round(calls.elapsed_ms / calls.ended))} on average before`
      : `p50 ${formatMs(p50_ms)}, p95 ${formatMs(p95_ms!)}`
  return html`<${Sparkbars} values=${traffic.minutes.p95_ms} /> <small>${words}</small>`
}

const formatBytes = (bytes: number): string => `${formatCount(Math.ceil(bytes / 2 ** 20))} MiB`

function failuresOf({ last_error: last, traffic }: FleetSource, now: number) {
  if (last === null) return 'none'
  const { errors = 0, requests = 0 } = traffic?.total ?? {}
  return html`<span>${describeFailure(last)}, <${TimeAgo} at=${Date.parse(last.at)} now=${now} /></span>
    <small>${errors === 0 ? 'none in 60 min' : `${formatCount(errors)} of ${formatCount(requests)} calls in 60 min`}</small>`
}

export const BREAKER_WORDS: Readonly<Record<string, string>> = {
  closed: 'normal',
  open: 'paused',
  half_open: 'testing',
}

/** Sources that need attention first; otherwise in configuration order. */
function byTrouble(sources: readonly FleetSource[]): FleetSource[] {
  return sources.toSorted((one, other) => troubleOf(other) - troubleOf(one))
}

function troubleOf({ state, breaker }: FleetSource): number {
  if (state === 'unavailable') return 4
  if (breaker !== undefined && (breaker.state !== 'closed' || breaker.suspended !== null)) return 3
  if (state === 'stale') return 2
  return breaker !== undefined && breaker.failures_in_a_row > 0 ? 1 : 0
}

/** The best source that has a listing decides what is shown. The own Registry has priority 0 and is first among equals. */
function rankingOf(sources: readonly FleetSource[]): string {
  const priorityOf = ({ settings }: FleetSource): number => Number(settings?.priority ?? 0)
  return sources
    .toSorted((a, b) => priorityOf(a) - priorityOf(b))
    .map(
      (source) =>
        `${source.registry} ${priorityOf(source)}${source.visibility === 'private' ? ' (private)' : ''}`,
    )
    .join(', ')
}

/** `28 of 31 OK · 3 down`. */
function summaryOf(sources: readonly FleetSource[]): string {
  const count = (state: FleetSource['state']): number =>
    sources.filter((source) => source.state === state).length
  const parts = [
    [count('unavailable'), `down${atSome(sources)}`],
    [count('stale'), 'with a cached copy'],
    [count('partial'), 'in part'],
    [count('loading'), 'loading'],
    [count('not_yet_loaded'), 'not loaded yet'],
  ] as const
  const exceptions = parts.filter(([number]) => number > 0).map(([number, words]) => `${number} ${words}`)
  return [`${count('loaded')} of ${sources.length} OK`, ...exceptions].join(' · ')
}

/** ` at 1 of 2 replicas`, where every source that is down is up elsewhere. */
function atSome(sources: readonly FleetSource[]): string {
  const down = sources.filter(({ state }) => state === 'unavailable')
  const counts = down.map(({ replicas }) => {
    const states = Object.values(replicas)
    return [states.filter((state) => state === 'unavailable').length, states.length] as const
  })
  const [most = 0, all = 0] = counts.toSorted(([one], [other]) => other - one)[0] ?? []
  return most < all ? ` at ${most} of ${all} replicas` : ''
}

/** `normal`, `paused, retries in 12 s`, `testing`. */
function describeCalls(breaker: NonNullable<FleetSource['breaker']>, now: number): string {
  const { state, retry_at, suspended } = breaker
  const retries = (instant: string): string =>
    `, retries in ${Math.max(0, Math.ceil((Date.parse(instant) - now) / 1000))} s`
  if (state === 'open') return `paused${retry_at === null ? '' : retries(retry_at)}`
  if (suspended !== null)
    return `paused (${suspended.reason === 'unauthorized' ? 'API key rejected' : 'asked to wait'})${retries(suspended.until)}`
  return BREAKER_WORDS[state] ?? state
}

function toneOfCalls({ state, failures_in_a_row, suspended }: NonNullable<FleetSource['breaker']>): ToneName {
  if (state === 'open' || suspended !== null) return 'bad'
  return state === 'half_open' || failures_in_a_row > 0 ? 'warn' : 'good'
}
