import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { plural } from '../../domain/plural.ts'
import { describeReason, hasAnswered } from '../../wire/describe-missing.ts'
import type { SourceReport, SourceStatusJson } from '../../wire/source.ts'
import { TimeAgo } from '../common/time.ts'
import { SourceState, Tone } from '../common/tone.ts'
import { untrustedText } from '../common/untrusted-text.ts'
import { html } from '../html.ts'
import { useAnswer } from './state/answer.ts'
import { joinSources, type KnownSource } from './state/sources.ts'
import { parameterOf, type Query } from './view.ts'

type SourceLineProps = {
  /** `null` at a plain Registry, and before the first answer. */
  reports: readonly SourceReport[] | null
  isPlain: boolean
  /** When the reports were made, in milliseconds since the Unix epoch. */
  at: number
  apiKey: string | null
  refreshes: number
}

type Statuses = { sources: readonly SourceStatusJson[] }

/** `28 of 31 registries answered`, which opens the list of all. */
export function SourceLine({ reports, isPlain, at, apiKey, refreshes }: SourceLineProps) {
  const [isOpen, setOpen] = useState(false)
  const statuses = useAnswer<Statuses>(isOpen ? 'sources' : null, {
    key: apiKey,
    refreshes,
  })
  if (reports === null)
    return html`<p class="source-line hint">${isPlain ? 'Listings of this registry.' : ''}</p>`
  const own = reports.filter(({ registry }) => !registry.includes('/'))
  const answered = own.filter(({ state }) => hasAnswered(state)).length
  const sources = joinSources(statuses.value?.sources ?? [], reports)
  return html`<details
    class=${answered === own.length ? 'source-line' : 'source-line partial'}
    onToggle=${({ currentTarget }: { currentTarget: HTMLDetailsElement }) => setOpen(currentTarget.open)}
  >
    <summary>${answered} of ${plural(own.length, 'registry', 'registries')} answered</summary>
    <ul class="sources row" aria-label="Registries">
      ${sources.toSorted((a, b) => rank(a) - rank(b)).map((source) => html`<${SourceEntry} key=${source.registry} ...${{ source, at }} />`)}
    </ul>
    ${apiKey === null && html`<p class="hint">Some registries may be private: with an API key you see them.</p>`}
  </details>`
}

const rank = ({ report }: KnownSource): number => (report === null ? 1 : hasAnswered(report.state) ? 2 : 0)

function SourceEntry({ source, at }: { source: KnownSource; at: number }) {
  const { registry, mode, visibility, report, last_error } = source
  const state = report?.state ?? source.state ?? ''
  const reason = report?.reason ?? (hasAnswered(state) ? null : (last_error?.reason ?? null))
  const age = report?.age_seconds ?? source.age_seconds ?? null
  const kind = [visibility === 'private' ? 'private' : '', mode === 'snapshot' ? 'snapshot' : '']
    .filter(Boolean)
    .join(', ')
  const matched = report?.matched ?? null
  const invalid = report?.invalid ?? 0
  return html`<li class=${report === null ? 'source row box not-requested' : 'source row box'} data-state=${state}>
    <strong>${untrustedText(registry)}</strong>
    ${kind !== '' && html`<span class="hint">${kind}</span>`}
    ${report === null ? html`<${Tone} of="neutral" text="not queried" />` : html`<${SourceState} state=${untrustedText(state)} />`}
    ${age !== null && hasAnswered(state) && html`<span class="hint"><${TimeAgo} at=${at - age * 1000} /></span>`}
    ${matched !== null && html`<span class="hint">${matched.toLocaleString('en')} ${matched === 1 ? 'match' : 'matches'}</span>`}
    ${invalid > 0 && html`<span class="fault">${plural(invalid, 'invalid listing')} left out</span>`}
    ${reason !== null && html`<span class="fault">${untrustedText(describeReason(reason))}</span>`}
  </li>`
}

/** By default an answer of this age is served from the gateway's cache. */
const FRESH_SECONDS = 15

type WaitingProps = { query: Query; apiKey: string | null; children?: ComponentChildren }

/** After a second of waiting names the registries that have not answered since; until then shows its children. */
export function Waiting({ isWaiting, ...props }: WaitingProps & { isWaiting: boolean }) {
  const [seconds, setSeconds] = useState(0)
  useEffect(() => {
    setSeconds(0)
    const timer = isWaiting && setInterval(() => setSeconds((before) => before + 1), 1000)
    return () => timer !== false && clearInterval(timer)
  }, [isWaiting, props.query])
  return isWaiting && seconds > 0
    ? html`<${SilentSources} ...${props} ...${{ seconds }} />`
    : html`${props.children}`
}

function SilentSources({ query, apiKey, seconds, children }: WaitingProps & { seconds: number }) {
  const { value } = useAnswer<Statuses>('sources', { key: apiKey, refreshes: Math.floor(seconds / 3) })
  const chosen = parameterOf(query, 'sources')?.split(',')
  const silent = (value?.sources ?? []).filter(
    ({ registry, mode, state, age_seconds: age, last_error }) =>
      mode === 'live' &&
      (chosen?.includes(registry) ?? true) &&
      (age === null || age > FRESH_SECONDS + seconds) &&
      (state !== 'unavailable' || last_error?.reason === 'timeout'),
  )
  if (silent.length === 0) return html`${children}`
  const names = silent.map(({ registry }) => registry).join(', ')
  return html`<p class="hint">Waiting for ${plural(silent.length, 'registry', 'registries')}: ${untrustedText(names)}</p>`
}
