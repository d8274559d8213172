import { useState } from 'preact/hooks'
import { plural } from '../../domain/plural.ts'
import { describeAnswered, haveAllAnswered } from '../../wire/describe-answered.ts'
import { describeMissing, describeReason, hasAnswered, isArriving } from '../../wire/describe-missing.ts'
import type { SourceReport, SourceStatusJson, SourcesCounted } from '../../wire/source.ts'
import { TimeAgo } from '../common/time.ts'
import { SourceState, Tone } from '../common/tone.ts'
import { untrustedText } from '../common/untrusted-text.ts'
import { html } from '../html.ts'
import { useAnswer } from './state/answer.ts'
import { isSentAgain, type Listings } from './state/listings.ts'

type SourceLineProps = {
  /** `null` at a plain Registry, and before the first answer. */
  reports: readonly SourceReport[] | null
  /** Of many sources, those that the reports do not name. */
  counted: SourcesCounted | undefined
  isPlain: boolean
  /** Whether there are registries that the reader does not see, by what the operator says. */
  hasPrivate: boolean
  /** When the reports were made, in milliseconds since the Unix epoch. */
  at: number
  apiKey: string | null
  refreshes: number
}

type Statuses = { sources: readonly SourceStatusJson[]; total: number }

/** How many answered, which opens the list of all. */
export function SourceLine({
  reports,
  counted,
  isPlain,
  hasPrivate,
  at,
  apiKey,
  refreshes,
}: SourceLineProps) {
  const [isOpen, setOpen] = useState(false)
  const statuses = useAnswer<Statuses>(isOpen ? 'sources' : null, {
    key: apiKey,
    refreshes,
  })
  if (reports === null)
    return html`<p class="source-line hint">${isPlain ? 'Listings of this registry.' : ''}</p>`
  const sources = joinSources(statuses.value?.sources ?? [], reports)
  const more = Math.max(
    0,
    (statuses.value?.total ?? 0) - sources.filter(({ registry }) => !registry.includes('/')).length,
  )
  return html`<details
    class=${haveAllAnswered(reports) ? 'source-line' : 'source-line partial'}
    onToggle=${({ currentTarget }: { currentTarget: HTMLDetailsElement }) => setOpen(currentTarget.open)}
  >
    <summary>${untrustedText(describeAnswered(reports, counted), MAX_DETAIL_CHARS)}</summary>
    <ul class="sources row" aria-label="Registries">
      ${sources.toSorted((a, b) => rank(a) - rank(b)).map((source) => html`<${SourceEntry} key=${source.registry} ...${{ source, at, isAsked: counted !== undefined }} />`)}
      ${more > 0 && html`<li class="source row box">and ${plural(more, 'other registry', 'other registries')}</li>`}
    </ul>
  </details>
  ${hasPrivate && html`<p class="hint">There are private registries. Enter an API key to include them.</p>`}`
}

const rank = ({ report }: KnownSource): number => (report === null ? 1 : hasAnswered(report.state) ? 2 : 0)

/** @param isAsked whether a source without a report was asked, too */
function SourceEntry({ source, at, isAsked }: { source: KnownSource; at: number; isAsked: boolean }) {
  const { registry, visibility, report, last_error } = source
  const state = report?.state ?? source.state ?? ''
  const reason = report?.reason ?? (hasAnswered(state) ? null : (last_error?.reason ?? null))
  const age = report?.age_seconds ?? source.age_seconds ?? null
  const kind = visibility === 'private' ? 'private' : ''
  const matched = report?.matched ?? null
  const invalid = report?.invalid ?? 0
  const isLeftOut = report === null && !isAsked
  return html`<li class=${isLeftOut ? 'source row box not-requested' : 'source row box'} data-state=${state}>
    <strong>${untrustedText(registry)}</strong>
    ${kind !== '' && html`<span class="hint">${kind}</span>`}
    ${isLeftOut ? html`<${Tone} of="neutral" text="not queried" />` : html`<${SourceState} state=${untrustedText(state)} />`}
    ${age !== null && hasAnswered(state) && html`<span class="hint"><${TimeAgo} at=${at - age * 1000} /></span>`}
    ${matched !== null && html`<span class="hint">${matched.toLocaleString('en')} ${matched === 1 ? 'match' : 'matches'}</span>`}
    ${invalid > 0 && html`<span class="fault">${plural(invalid, 'invalid listing')} left out</span>`}
    ${reason !== null && html`<span class="fault">${untrustedText(describeReason(reason))}</span>`}
  </li>`
}

type BannerProps = { listings: Listings; hasKey: boolean }

export function Banner({ listings, hasKey }: BannerProps) {
  const { error, isComplete, rows, total, isPrevious, phase } = listings
  if (error === null && (isComplete || total === null)) return null
  const reports = error === null ? (listings.sources ?? []) : error.sources
  if (error?.status === 401 && !hasKey)
    return html`<section class="banner stack" role="alert"><h2>${untrustedText(error.message)}</h2><p>${KEY_REQUIRED}</p></section>`
  const lack = error === null ? lackOf(reports) : 'failed'
  return html`<section class=${`banner stack${error === null ? '' : ' failed'}${isPrevious && phase !== 'failed' ? ' old' : ''}`} role=${lack === 'arriving' ? 'status' : 'alert'}>
    <h2>${error === null ? LACK_WORDS[lack] : headline(rows.length, total, isPrevious)}</h2>
    ${error !== null && html`<p>${untrustedText(error.message, MAX_DETAIL_CHARS)}</p>`}
    ${error !== null && isSentAgain(error) && html`<p>The search is sent again ${error.retryAfter === null ? 'shortly' : `in ${error.retryAfter} s`}.</p>`}
    <${MissingSources} reports=${reports} />
    ${error !== null && canRetry(error.status) && html`<button type="button" onClick=${listings.retry}>Try again</button>`}
  </section>`
}

/** Why the answer is not complete: the worst of its sources decides. */
export function lackOf(reports: readonly SourceReport[]): 'arriving' | 'partial' | 'failed' {
  const missing = reports.filter(({ state }) => !hasAnswered(state))
  if (missing.length > 0 && missing.every(({ state }) => isArriving(state))) return 'arriving'
  const isHeld = missing.length > 0 && missing.every(({ state }) => state === 'partial' || isArriving(state))
  return isHeld ? 'partial' : 'failed'
}

const LACK_WORDS = {
  arriving: 'Some registries are still loading. The rest follows.',
  partial: 'Some registries are held in part. Results are incomplete.',
  failed: 'Some registries did not answer. Results are incomplete.',
}

const KEY_REQUIRED =
  'Enter a key above, or ask the operator for one, who makes it with "entrepot keys mint NAME" or on the operator\'s page.'
const MAX_DETAIL_CHARS = 1000
const MAX_MISSING = 50

/** The same request can only be refused again. */
const canRetry = (status: number): boolean => status === 0 || status === 429 || status >= 500

function headline(count: number, total: number | null, isPrevious: boolean): string {
  if (count === 0) return 'Listings could not be loaded.'
  return isPrevious
    ? 'This search could not be answered. The previous results are below.'
    : `Loading stopped after ${count.toLocaleString('en')} of ${(total ?? count).toLocaleString('en')}.`
}

function MissingSources({ reports }: { reports: readonly SourceReport[] }) {
  const words = [...new Set(reports.map(describeMissing).filter((text) => text !== null))]
  if (words.length === 0) return null
  return html`<ul class="bullets">
    ${words.slice(0, MAX_MISSING).map((text) => html`<li>${untrustedText(text, MAX_DETAIL_CHARS)}.</li>`)}
    ${words.length > MAX_MISSING && html`<li>and ${words.length - MAX_MISSING} more</li>`}
  </ul>`
}

/** `report`: how the source answered the query, if it was requested. */
type KnownSource = Pick<SourceStatusJson, 'registry'> &
  Partial<SourceStatusJson> & { report: SourceReport | null }

/** In the gateway's order, then those that only the answer names. */
function joinSources(statuses: readonly SourceStatusJson[], reports: readonly SourceReport[]): KnownSource[] {
  const names = new Set(statuses.map(({ registry }) => registry))
  const fromStatuses = statuses.map((status) => ({
    ...status,
    report: reports.find(({ registry }) => registry === status.registry) ?? null,
  }))
  const extraReports = reports.filter(({ registry }) => !names.has(registry))
  return [...fromStatuses, ...extraReports.map((report) => ({ registry: report.registry, report }))]
}
