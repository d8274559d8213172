import { formatAge } from '../../wire/describe-missing.ts'
import type { SourceDetailsJson } from '../../wire/source.ts'
import { stateWords } from '../common/source-words.ts'
import { html } from '../html.ts'
import type { Sample } from './history.ts'
import { Sparkline } from './sparkline.ts'

type SourceRowProps = {
  source: SourceDetailsJson
  samples: readonly Sample[]
  onRefresh: (registry: string) => void
}

export function SourceRow({ source, samples, onRefresh }: SourceRowProps) {
  const { registry, mode, visibility, state, age_seconds: age, listings, breaker } = source
  return html`<tr>
    <th scope="row">${registry} <small>${mode}${visibility === 'private' && ', private'}</small></th>
    <td><${Tone} of=${state} words=${stateWords(state)} /></td>
    <td>${breaker === undefined ? '–' : html`<${Breaker} ...${breaker} />`}</td>
    <td>${age === null ? '–' : formatAge(age)}</td>
    <td>${listings ?? '–'}</td>
    <td><${Latency} samples=${samples} isCalled=${source.calls !== undefined} /></td>
    <td><${Hits} source=${source} samples=${samples} /></td>
    <td><${Failures} source=${source} /></td>
    <td>
      ${
        mode !== 'local' &&
        html`<button type="button" onClick=${() => onRefresh(registry)}>
          Refresh <span class="unseen">${registry}</span>
        </button>`
      }
    </td>
  </tr>`
}

const Tone = ({ of, words }: { of: string; words: string }) =>
  html`<span class="tone" data-tone=${TONES[of] ?? 'bad'}>${words}</span>`

const TONES: Readonly<Record<string, string>> = {
  loaded: 'good',
  closed: 'good',
  stale: 'warn',
  half_open: 'warn',
  not_yet_loaded: 'warn',
}

const Breaker = ({ state, failures_in_a_row: failures }: NonNullable<SourceDetailsJson['breaker']>) =>
  html`<${Tone} of=${state} words=${state.replaceAll('_', ' ')} />
    ${failures > 0 && html` <small>${failures} in a row</small>`}`

function Latency({ samples, isCalled }: { samples: readonly Sample[]; isCalled: boolean }) {
  if (!isCalled) return html`–`
  const values = samples.map(({ latencyMs }) => latencyMs)
  const last = values.findLast((value) => value !== null)
  const shown = last === undefined ? 'no calls yet' : `${Math.round(last ?? 0)} ms`
  return html`<${Sparkline} label=${`Latency of calls, lately ${shown}`} values=${values} />
    <small>${shown}</small>`
}

function Hits({ source: { cache }, samples }: { source: SourceDetailsJson; samples: readonly Sample[] }) {
  if (cache === undefined) return html`–`
  const values = samples.map(({ hitRate }) => hitRate)
  const hits = cache.fresh + cache.stale
  const pages = hits + cache.miss
  const shown = pages === 0 ? 'no pages yet' : `${Math.round((100 * hits) / pages)} % of ${pages}`
  return html`<${Sparkline} label=${`Cache hits, in all ${shown}`} values=${values} most=${1} />
    <small>${shown}</small>`
}

function Failures({ source: { last_error: last, calls } }: { source: SourceDetailsJson }) {
  const reasons = Object.entries(calls?.failures_by_reason ?? {})
  if (last === null && reasons.length === 0) return html`none`
  return html`${
    last !== null &&
    html`<span>last ${last.reason}, <time datetime=${last.at}>${formatAge(secondsSince(last.at))}</time> ago</span>`
  }
    <small class="reasons">${reasons.map(([reason, count]) => `${reason} ${count}×`).join(', ')}</small>`
}

const secondsSince = (instant: string): number => Math.max(0, (Date.now() - Date.parse(instant)) / 1000)
