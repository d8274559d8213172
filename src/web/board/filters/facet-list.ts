import { useRef, useState } from 'preact/hooks'
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

/** Values with their counts; none chosen means all. Those chosen are first, those that match nothing last. */
export function FacetList({ name, label, value, facet, choices, wordsOf, onChange }: FacetListProps) {
  const words = wordsOf ?? ((one: string) => formatMember(name, asNumber(one)))
  const [isLong, setLong] = useState(false)
  const counted = useSteadyCounts(facet)
  const chosen = value === null ? [] : readChoices(value)
  const values = facet === null ? choices.map((choice) => ({ value: choice, count: null })) : counted
  const added = chosen.filter((one) => !values.some(({ value }) => value === one))
  const all: Counted[] = [
    ...added.map((one) => ({ value: one, count: facet === null ? null : 0 })),
    ...values,
  ]
    .filter(({ value }) => canChoose(value))
    .toSorted((a, b) => rank(a, chosen) - rank(b, chosen))
  const entries = isLong
    ? all.slice(0, LONG_LENGTH)
    : all.filter(({ value }, n) => n < SHORT_LENGTH || chosen.includes(value))
  if (all.length === 0) return null
  return html`<fieldset class="filter stack" id=${`filter-${name}`}>
    <legend>${untrustedText(label)}</legend>
    <div class=${isLong ? 'values long' : 'values'}>
      ${entries.map(
        ({ value, count, at_least }) =>
          html`<${Choice}
            key=${value}
            ...${{ value, count, at_least, words: words(value) }}
            isChosen=${chosen.includes(value)}
            onToggle=${() => onChange(toggleChoice(chosen, value))}
          />`,
      )}
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

export type Counted = { value: string; count: number | null; at_least?: boolean | undefined }

type ChoiceProps = Counted & { words: string; isChosen: boolean; onToggle: () => void }

/** A box with its count. */
export const Choice = ({ value, count, at_least: isAtLeast, words, isChosen, onToggle }: ChoiceProps) =>
  html`<label class=${count === 0 ? 'choice none' : 'choice'}>
    <input type="checkbox" checked=${isChosen} onChange=${onToggle} />
    <span title=${untrustedText(value)}>${untrustedText(words, MAX_VALUE_CHARS)}</span>
    ${count !== null && html`<span class="hint number">${count.toLocaleString('en')}${isAtLeast && '+'}</span>`}
  </label>`

const rank = ({ value, count }: Counted, chosen: readonly string[]): number =>
  chosen.includes(value) ? 0 : count === 0 ? 2 : 1

const MAX_KNOWN = 500

/** Values keep the place in which they came first, so that a choice moves no others. */
export function useSteadyCounts(facet: FacetJson | null): Counted[] {
  const known = useRef<readonly string[]>([])
  const values = facet?.values ?? []
  known.current = [...new Set([...known.current, ...values.map(({ value }) => value)])].slice(0, MAX_KNOWN)
  const byValue = new Map(values.map((one) => [one.value, one]))
  const isUnknown = facet === null || facet.other > 0
  return known.current.map((value) => byValue.get(value) ?? { value, count: isUnknown ? null : 0 })
}

/** For a unit, such as `99.5 %`. */
const asNumber = (value: string): string | number =>
  /^-?\d{1,15}(\.\d{1,10})?$/.test(value) ? Number(value) : value
