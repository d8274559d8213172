import { describeMissing } from '../../wire/describe-missing.ts'
import type { SourceReport } from '../../wire/source.ts'
import { strangerText } from '../common/untrusted-text.ts'
import { html } from '../html.ts'
import type { Listings } from './data/use-listings.ts'

export function Banner({ listings, hasKey }: { listings: Listings; hasKey: boolean }) {
  const { fault, isComplete, rows, total } = listings
  const reports = [...(fault?.problem.sources ?? []), ...(listings.sources ?? [])]
  if (listings.isOld || (fault === null && isComplete)) return null
  return html`<section class=${`banner ${fault === null ? 'partial' : 'failed'}`} role="alert">
    <h2>${fault === null ? 'This answer is not complete.' : headline(rows.length, total)}</h2>
    ${fault !== null && html`<p>${strangerText(fault.message, MAX_DETAIL_CHARS)}</p>`}
    ${fault?.status === 401 && html`<p>${hasKey ? KEY_REFUSED : KEY_WANTED}</p>`}
    <${Missing} reports=${reports} />
    ${fault === null && html`<p>More may exist there: that a listing is not below does not mean that there is none.</p>`}
    ${fault !== null && html`<button type="button" onClick=${listings.retry}>Try again</button>`}
  </section>`
}

const KEY_WANTED = 'Type a reader key in above; whoever runs this gateway hands them out.'
const KEY_REFUSED = 'The key in use is not accepted: forget it above, and type in another.'
const MAX_DETAIL_CHARS = 1000
const MAX_MISSING = 50

const headline = (held: number, total: number | null): string =>
  held === 0
    ? 'There is no answer.'
    : `The list breaks off after ${held.toLocaleString('en')} of ${(total ?? held).toLocaleString('en')} listings.`

function Missing({ reports }: { reports: readonly SourceReport[] }) {
  const words = [...new Set(reports.map(describeMissing).filter((text) => text !== null))]
  if (words.length === 0) return null
  return html`<ul>
    ${words.slice(0, MAX_MISSING).map((text) => html`<li>${strangerText(text, MAX_DETAIL_CHARS)}.</li>`)}
    ${words.length > MAX_MISSING && html`<li>and ${words.length - MAX_MISSING} more</li>`}
  </ul>`
}
