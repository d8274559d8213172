import { describeMissing } from '../../wire/describe-missing.ts'
import type { SourceReport } from '../../wire/source.ts'
import { untrustedText } from '../common/untrusted-text.ts'
import { html } from '../html.ts'
import type { Listings } from './state/listings.ts'

type BannerProps = { listings: Listings; hasKey: boolean }

export function Banner({ listings, hasKey }: BannerProps) {
  const { error, isComplete, rows, total, isPrevious, phase } = listings
  if (error === null && (isComplete || total === null)) return null
  const reports = error === null ? (listings.sources ?? []) : error.sources
  return html`<section class=${`banner stack${error === null ? '' : ' failed'}${isPrevious && phase !== 'failed' ? ' old' : ''}`} role="alert">
    <h2>${error === null ? 'Some registries did not answer. Results are incomplete.' : headline(rows.length, total, isPrevious)}</h2>
    ${error !== null && html`<p>${untrustedText(error.message, MAX_DETAIL_CHARS)}</p>`}
    ${error?.status === 401 && html`<p>${hasKey ? KEY_REFUSED : KEY_REQUIRED}</p>`}
    ${error?.status === 429 && html`<p>The search is sent again ${error.retryAfter === null ? 'shortly' : `in ${error.retryAfter} s`}.</p>`}
    <${MissingSources} reports=${reports} />
    ${error !== null && canRetry(error.status) && html`<button type="button" onClick=${listings.retry}>Try again</button>`}
  </section>`
}

const KEY_REQUIRED = 'This gateway requires an API key. Enter one above, or ask its operator for one.'
const KEY_REFUSED = 'This key was rejected. Forget it above, and enter another.'
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
