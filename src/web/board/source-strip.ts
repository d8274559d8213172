import { ageWords, reasonWords, stateWords } from '../common/source-words.ts'
import { strangerText } from '../common/untrusted-text.ts'
import { html } from '../html.ts'
import type { KnownSource } from './data/sources.ts'

export const SourceStrip = ({ sources, isOld }: { sources: readonly KnownSource[]; isOld: boolean }) =>
  html`<ul class=${isOld ? 'sources old' : 'sources'} aria-label="Sources">
    ${sources.map((source) => html`<${SourceEntry} key=${source.registry} source=${source} />`)}
  </ul>`

function SourceEntry({ source }: { source: KnownSource }) {
  const { registry, mode, visibility, report, lastError } = source
  const state = report?.state ?? source.state
  const reason = report?.reason ?? (isWell(state) ? null : lastError)
  const age = report?.ageSeconds ?? source.ageSeconds
  const kind = [visibility === 'private' ? 'private' : '', mode === 'snapshot' ? 'snapshot' : '']
    .filter(Boolean)
    .join(', ')
  const matched = report?.matched ?? null
  return html`<li class=${`source ${report === null ? 'unasked' : ''}`} data-state=${state}>
    <span class="mark" aria-hidden="true"></span>
    <strong>${strangerText(registry)}</strong>
    ${kind !== '' && html`<span class="hint">${kind}</span>`}
    <span class="state">${report === null ? 'not asked' : stateWords(state)}</span>
    ${age !== null && isWell(state) && html`<span class="hint">${age === 0 ? 'now' : `${ageWords(age)} ago`}</span>`}
    ${matched !== null && html`<span class="hint">${matched.toLocaleString('en')} match</span>`}
    ${reason !== null && html`<span class="reason">it ${strangerText(reasonWords(reason))}</span>`}
  </li>`
}

const isWell = (state: string): boolean => state === 'loaded' || state === 'stale'
