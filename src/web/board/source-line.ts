import { useState } from 'preact/hooks'
import { describeReason, hasAnswered } from '../../wire/describe-missing.ts'
import type { SourceReport } from '../../wire/source.ts'
import { TimeAgo } from '../common/time.ts'
import { untrustedText } from '../common/untrusted-text.ts'
import { html } from '../html.ts'
import { useAnswer } from './state/answer.ts'
import { joinSources, type KnownSource, readStatuses } from './state/sources.ts'

type SourceLineProps = {
  /** `null` at a plain Registry, and before the first answer. */
  reports: readonly SourceReport[] | null
  isPlain: boolean
  /** When the reports were made, in milliseconds since the Unix epoch. */
  at: number
  apiKey: string | null
  refreshes: number
}

/** `28 of 31 registries answered`, which opens the list of all. */
export function SourceLine({ reports, isPlain, at, apiKey, refreshes }: SourceLineProps) {
  const [isOpen, setOpen] = useState(false)
  const statuses = useAnswer(isOpen ? 'sources' : null, { key: apiKey, refreshes })
  if (reports === null)
    return html`<p class="source-line hint">${isPlain ? 'Listings of this registry.' : ''}</p>`
  const own = reports.filter(({ registry }) => !registry.includes('/'))
  const answered = own.filter(({ state }) => hasAnswered(state)).length
  const sources = joinSources(readStatuses(statuses.value), reports)
  return html`<details
    class=${answered === own.length ? 'source-line' : 'source-line partial'}
    onToggle=${({ currentTarget }: { currentTarget: HTMLDetailsElement }) => setOpen(currentTarget.open)}
  >
    <summary>${answered} of ${own.length} ${own.length === 1 ? 'registry' : 'registries'} answered</summary>
    <ul class="sources" aria-label="Registries">
      ${sources.toSorted((a, b) => rank(a) - rank(b)).map((source) => html`<${SourceEntry} key=${source.registry} ...${{ source, at }} />`)}
    </ul>
    ${apiKey === null && html`<p class="hint">Some registries may be private: with an API key you see them.</p>`}
  </details>`
}

const rank = ({ report, state }: KnownSource): number => (report === null ? 1 : hasAnswered(state) ? 2 : 0)

function SourceEntry({ source, at }: { source: KnownSource; at: number }) {
  const { registry, mode, visibility, report, lastError } = source
  const state = report?.state ?? source.state
  const reason = report?.reason ?? (hasAnswered(state) ? null : lastError)
  const age = report?.age_seconds ?? source.ageSeconds
  const kind = [visibility === 'private' ? 'private' : '', mode === 'snapshot' ? 'snapshot' : '']
    .filter(Boolean)
    .join(', ')
  const matched = report?.matched ?? null
  const invalid = report?.invalid ?? 0
  return html`<li class=${report === null ? 'source not-requested' : 'source'} data-state=${state}>
    <span class="mark" aria-hidden="true"></span>
    <strong>${untrustedText(registry)}</strong>
    ${kind !== '' && html`<span class="hint">${kind}</span>`}
    <span class="state">${report === null ? 'not queried' : (STATES.get(state) ?? untrustedText(state))}</span>
    ${age !== null && hasAnswered(state) && html`<span class="hint"><${TimeAgo} at=${at - age * 1000} /></span>`}
    ${matched !== null && html`<span class="hint">${matched.toLocaleString('en')} ${matched === 1 ? 'match' : 'matches'}</span>`}
    ${invalid > 0 && html`<span class="reason">${invalid} invalid ${invalid === 1 ? 'listing' : 'listings'} left out</span>`}
    ${reason !== null && html`<span class="reason">${untrustedText(describeReason(reason))}</span>`}
  </li>`
}

const STATES: ReadonlyMap<string, string> = new Map([
  ['loaded', 'OK'],
  ['stale', 'cached copy'],
  ['not_yet_loaded', 'not contacted yet'],
])
