import { useState } from 'preact/hooks'
import type { FacetJson } from '../../../wire/facets.ts'
import { untrustedText } from '../../common/untrusted-text.ts'
import { html } from '../../html.ts'
import { formatMember } from '../members.ts'
import { canChoose, readChoices, toggleChoice } from './controls.ts'

type FacetListProps = {
  /** The parameter. */
  name: string
  label: string
  value: string | null
  /** `null` without counts. */
  facet: FacetJson | null
  /** Shown where there are no counts. */
  choices: readonly string[]
  /** Of a value, for people. */
  wordsOf?: (value: string) => string
  onChange: (value: string | null) => void
}

const SHORT_LENGTH = 6
const LONG_LENGTH = 100
const MAX_VALUE_CHARS = 40

/** The most frequent values with their counts; none chosen means all. */
export function FacetList({ name, label, value, facet, choices, wordsOf, onChange }: FacetListProps) {
  const words = wordsOf ?? ((one: string) => formatMember(name, asNumber(one)))
  const [isLong, setLong] = useState(false)
  const chosen = value === null ? [] : readChoices(value)
  const values = facet?.values ?? choices.map((choice) => ({ value: choice, count: null }))
  const missing = chosen.filter((one) => !values.some(({ value }) => value === one))
  const all = [...missing.map((one) => ({ value: one, count: facet === null ? null : 0 })), ...values].filter(
    ({ value }) => canChoose(value),
  )
  const entries = isLong
    ? all.slice(0, LONG_LENGTH)
    : all.filter(({ value }, n) => n < SHORT_LENGTH || chosen.includes(value))
  if (all.length === 0) return null
  const choice = ({ value, count }: (typeof all)[number]) =>
    html`<label class="choice" key=${value}>
      <input type="checkbox" checked=${chosen.includes(value)} onChange=${() => onChange(toggleChoice(chosen, value))} />
      <span title=${untrustedText(value)}>${untrustedText(words(value), MAX_VALUE_CHARS)}</span>
      ${count !== null && html`<span class="hint number">${count.toLocaleString('en')}</span>`}
    </label>`
  return html`<fieldset class="filter stack" id=${`filter-${name}`}>
    <legend>${untrustedText(label)}</legend>
    <div class=${isLong ? 'values long' : 'values'}>
      ${entries.map(choice)}
    </div>
    ${
      all.length > SHORT_LENGTH &&
      html`<button type="button" class="quiet" aria-expanded=${isLong} onClick=${() => setLong(!isLong)}>
        ${isLong ? 'Show fewer' : `Show all ${all.length}`}
      </button>`
    }
    ${facet !== null && facet.other > 0 && html`<p class="hint">${facet.other.toLocaleString('en')} with other values</p>`}
  </fieldset>`
}

/** For a unit, such as `99.5 %`. */
const asNumber = (value: string): string | number =>
  /^-?\d{1,15}(\.\d{1,10})?$/.test(value) ? Number(value) : value
