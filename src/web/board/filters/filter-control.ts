import type { FacetJson } from '../../../wire/facets.ts'
import { parseAnswer, request } from '../../common/gateway.ts'
import { SelectBox } from '../../common/select-box.ts'
import { untrustedText } from '../../common/untrusted-text.ts'
import { html } from '../../html.ts'
import { formatMember, inputUnit } from '../members.ts'
import { parameterOf, type Query, withValue } from '../view.ts'
import {
  type Control,
  canShow,
  faultIn,
  type RangeEnds,
  rangeFault,
  readChoices,
  readExclusions,
  readRange,
  writeChoices,
  writeExclusions,
  writeRange,
} from './controls.ts'
import { type Counted, FacetList, useSteadyCounts } from './facet-list.ts'
import { Field } from './field.ts'

type FilterControlProps = {
  control: Control
  query: Query
  facet: FacetJson | null
  apiKey: string | null
  /** What the gateway refused about it. */
  refusal: string | null
  /** Of a value, for people. */
  wordsOf?: ((value: string) => string) | undefined
  onChange: (query: Query) => void
}

export function FilterControl(props: FilterControlProps) {
  const { control, query, facet, refusal, wordsOf, apiKey, onChange } = props
  const { name, label, registries, kind } = control
  const value = parameterOf(query, name)
  const set = (next: string | null): void => onChange(withValue(query, name, next))
  const unit = inputUnit(name)
  const title = untrustedText(
    unit === null || facet !== null || kind === 'choice' ? label : `${label} (${unit})`,
  )
  const isList = facet !== null && (kind === 'text' || kind === 'choice')
  // Of values that are not all listed, a level would leave some out.
  const isLevel = isList && facet.other === 0 && NUMBERS.has(control.valueType)
  const isShown = value === null || canShow(control, value)
  const Input = isLevel ? AtLeastInput : isList ? ChoiceInput : isShown ? INPUTS[kind] : PlainInput
  return html`<div class="filter stack">
    <${Input} ...${{ id: `filter-${name}`, label: title, control, facet, refusal, wordsOf, value, set, apiKey }} />
    ${registries !== null && html`<p class="hint">from ${registries.map((one) => untrustedText(one)).join(', ')}</p>`}
    ${value !== null && facet?.missing !== 0 && html`<${MissingChoice} ...${{ control, query, onChange }} />`}
  </div>`
}

const NUMBERS: ReadonlySet<string> = new Set(['integer', 'number'])

type InputProps = Omit<FilterControlProps, 'query' | 'onChange'> & {
  id: string
  label: string
  value: string | null
  set: (value: string | null) => void
}

const ChoiceInput = ({ label, control, facet, wordsOf, value, set }: InputProps) =>
  html`<${FacetList} name=${control.name} choices=${control.choices} onChange=${set} ...${{ label, value, facet, wordsOf }} />`

/** Of a number whose filter takes single values: those of the whole market from a least one on. */
function AtLeastInput({ id, label, control: { name }, facet, value, set, apiKey }: InputProps) {
  const counts = useSteadyCounts(facet).toSorted((a, b) => Number(a.value) - Number(b.value))
  const chosen = value === null ? [] : readChoices(value)
  const options = counts.map(({ value: least }, n) => {
    const total = counts.slice(n).reduce((sum, { count }) => sum + (count ?? 0), 0)
    return [least, `at least ${formatMember(name, Number(least))} (${total.toLocaleString('en')})`] as const
  })
  const least = counts.find((_, n) => counts.slice(n).every(({ value }) => chosen.includes(value)))?.value
  const words = chosen.map((one) => formatMember(name, Number(one))).join(', ')
  const choose = async (from: string): Promise<void> => {
    if (from === '') return set(null)
    const all = await request(`facets?by=${name}`, apiKey, {})
      .then(parseAnswer)
      .catch(() => ({}))
    const values: Counted[] = all.facets?.[name]?.values ?? counts
    set(writeChoices(values.map(({ value }) => value).filter((one) => Number(one) >= Number(from))))
  }
  return html`<label for=${id}>${label}</label>
    <${SelectBox}
      id=${id}
      value=${value === null ? '' : (least ?? value)}
      options=${[['', 'any'], ...(value !== null && least === undefined ? [[value, words]] : []), ...options]}
      onChange=${choose}
    />`
}

const PlainInput = ({ id, label, control, refusal, value, set }: InputProps) =>
  html`<label for=${id}>${label}</label>
    <${Field}
      id=${id}
      value=${value ?? ''}
      refusal=${refusal}
      faultOf=${(text: string) => (control.kind === 'text' && !text.includes(':[') ? faultIn(text, control.valueType) : null)}
      onChange=${(text: string) => set(text || null)}
    />`

const NoneInput = ({ id, label, refusal, value, set }: InputProps) =>
  html`<label for=${id}>Exclude ${label}</label>
    <${Field}
      id=${id}
      value=${value === null ? '' : (readExclusions(value) ?? '')}
      refusal=${refusal}
      placeholder="a, b"
      faultOf=${() => null}
      onChange=${(text: string) => set(writeExclusions(text))}
    />`

function RangeInput({ id, label, control, refusal, value, set }: InputProps) {
  const { low, high } = (value === null ? null : readRange(value, control.bound)) ?? { low: '', high: '' }
  const end = (edge: keyof RangeEnds, words: string) => {
    const endsWith = (text: string): RangeEnds => ({ low, high, [edge]: text })
    return html`<${Field}
      id=${edge === 'low' ? id : `${id}-high`}
      label=${`${label}, ${words}`}
      value=${edge === 'low' ? low : high}
      placeholder=${words}
      refusal=${(edge === 'low') === (low !== '') ? refusal : null}
      isNumeric
      faultOf=${(text: string) => rangeFault(endsWith(text), edge, control.valueType)}
      onChange=${(text: string) => set(writeRange(endsWith(text), control.bound))}
    />`
  }
  return html`<span class="label">${label}</span>
    <div class="range">${end('low', 'at least')} ${end('high', 'at most')}</div>`
}

const selectOf =
  (yes: string, no: string) =>
  ({ id, label, value, set }: InputProps) =>
    html`<label for=${id}>${label}</label>
      <${SelectBox}
        id=${id}
        value=${value ?? ''}
        options=${[['', 'any'], [yes, 'yes'], [no, 'no']]}
        onChange=${(answer: string) => set(answer || null)}
      />`

const INPUTS = {
  choice: ChoiceInput,
  flag: selectOf('true', 'false'),
  presence: selectOf('exists:true', 'exists:false'),
  range: RangeInput,
  exclusions: NoneInput,
  text: PlainInput,
}

type MissingChoiceProps = Pick<FilterControlProps, 'query' | 'onChange'> & {
  control: Pick<Control, 'name' | 'keepsMissing'>
}

/** The filter's default, or the reader's `strict.` parameter. */
export function MissingChoice(props: MissingChoiceProps) {
  const { control, query, onChange } = props
  const name = `strict.${control.name}`
  const strict = parameterOf(query, name)
  const keeps = strict === null ? control.keepsMissing : strict === 'false'
  const toggle = (): void =>
    onChange(withValue(query, name, !keeps === control.keepsMissing ? null : String(keeps)))
  return html`<label class="choice hint">
    <input type="checkbox" checked=${keeps} onChange=${toggle} /> <span>also listings that do not state it</span>
  </label>`
}
