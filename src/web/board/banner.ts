import { describeMissing } from '../../wire/describe-missing.ts'
import type { SourceReport } from '../../wire/source.ts'
import { untrustedText } from '../common/untrusted-text.ts'
import { html } from '../html.ts'
import type { Listings } from './data/hooks.ts'

export function Banner({ listings, hasKey }: { listings: Listings; hasKey: boolean }) {
  const { error, isComplete, rows, total } = listings
  const reports = [...(error?.sources ?? []), ...(listings.sources ?? [])]
  if (listings.isPrevious || (error === null && isComplete)) return null
  return html`<section class=${`banner ${error === null ? 'partial' : 'failed'}`} role="alert">
    <h2>${error === null ? 'This answer is incomplete.' : headline(rows.length, total)}</h2>
    ${error !== null && html`<p>${untrustedText(error.message, MAX_DETAIL_CHARS)}</p>`}
    ${error?.status === 401 && html`<p>${hasKey ? KEY_REFUSED : KEY_REQUIRED}</p>`}
    <${MissingSources} reports=${reports} />
    ${error === null && html`<p>The list below may lack listings that match.</p>`}
    ${error !== null && html`<button type="button" onClick=${listings.retry}>Try again</button>`}
  </section>`
}

const KEY_REQUIRED = 'Enter a reader key above. The operator of this gateway issues them.'
const KEY_REFUSED = 'The gateway refuses the key in use. Forget it above, and enter another.'
const MAX_DETAIL_CHARS = 1000
const MAX_MISSING = 50

const headline = (count: number, total: number | null): string =>
  count === 0
    ? 'The listings could not be loaded.'
    : `The list stops after ${count.toLocaleString('en')} of ${(total ?? count).toLocaleString('en')} listings.`

function MissingSources({ reports }: { reports: readonly SourceReport[] }) {
  const words = [...new Set(reports.map(describeMissing).filter((text) => text !== null))]
  if (words.length === 0) return null
  return html`<ul>
    ${words.slice(0, MAX_MISSING).map((text) => html`<li>${untrustedText(text, MAX_DETAIL_CHARS)}.</li>`)}
    ${words.length > MAX_MISSING && html`<li>and ${words.length - MAX_MISSING} more</li>`}
  </ul>`
}
