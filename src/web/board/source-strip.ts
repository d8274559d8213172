import { describeReason, formatAge, hasAnswered } from '../../wire/describe-missing.ts'
import { stateWords } from '../common/source-report.ts'
import { untrustedText } from '../common/untrusted-text.ts'
import { html } from '../html.ts'
import type { KnownSource } from './data/sources.ts'

type SourceStripProps = { sources: readonly KnownSource[]; isPrevious: boolean }

export const SourceStrip = ({ sources, isPrevious }: SourceStripProps) =>
  html`<ul class=${isPrevious ? 'sources old' : 'sources'} aria-label="Sources">
    ${sources.map((source) => html`<${SourceEntry} key=${source.registry} source=${source} />`)}
  </ul>`

function SourceEntry({ source }: { source: KnownSource }) {
  const { registry, mode, visibility, report, lastError } = source
  const state = report?.state ?? source.state
  const reason = report?.reason ?? (hasAnswered(state) ? null : lastError)
  const age = report?.age_seconds ?? source.ageSeconds
  const kind = [visibility === 'private' ? 'private' : '', mode === 'snapshot' ? 'snapshot' : '']
    .filter(Boolean)
    .join(', ')
  const matched = report?.matched ?? null
  return html`<li class=${`source ${report === null ? 'not-requested' : ''}`} data-state=${state}>
    <span class="mark" aria-hidden="true"></span>
    <strong>${untrustedText(registry)}</strong>
    ${kind !== '' && html`<span class="hint">${kind}</span>`}
    <span class="state">${report === null ? 'not requested' : stateWords(state)}</span>
    ${age !== null && hasAnswered(state) && html`<span class="hint">${age === 0 ? 'now' : `${formatAge(age)} ago`}</span>`}
    ${matched !== null && html`<span class="hint">${matched.toLocaleString('en')} match</span>`}
    ${reason !== null && html`<span class="reason">it ${untrustedText(describeReason(reason))}</span>`}
  </li>`
}
