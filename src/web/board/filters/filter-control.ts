import { strangerText } from '../../common/untrusted-text.ts'
import { html } from '../../html.ts'
import { type Parameter, parameterOf, withValue } from '../view.ts'
import { ChoiceInput } from './choice-input.ts'
import type { Control } from './controls.ts'
import { isShowable, readNone, readRange, writeNone, writeRange } from './filter-value.ts'
import { TextInput } from './text-input.ts'

type FilterControlProps = {
  control: Control
  query: readonly Parameter[]
  onChange: (query: readonly Parameter[]) => void
  suggest: (path: readonly string[]) => readonly string[]
}

export function FilterControl({ control, query, onChange, suggest }: FilterControlProps) {
  const { name, label, registries } = control
  const value = parameterOf(query, name)
  const set = (next: string | null): void => {
    const changed = withValue(query, name, next)
    onChange(next === null ? withValue(changed, `strict.${name}`, null) : changed)
  }
  const input = { id: `filter-${name}`, label: strangerText(label), control, value, set, suggest }
  return html`<div class="filter">
    ${
      value === null || isShowable(control, value)
        ? html`<${INPUTS[control.kind]} ...${input} />`
        : html`<${PlainInput} ...${input} />`
    }
    ${registries !== null && html`<p class="hint">only ${registries.map((one) => strangerText(one)).join(', ')}</p>`}
    ${value !== null && html`<${MissingChoice} ...${{ control, query, onChange }} />`}
  </div>`
}

type InputProps = {
  id: string
  label: string
  control: Control
  value: string | null
  set: (value: string | null) => void
  suggest: FilterControlProps['suggest']
}

function PlainInput({ id, label, control, value, set, suggest }: InputProps) {
  const suggestions = control.path === null ? [] : () => suggest(control.path ?? [])
  return html`<label for=${id}>${label}</label>
    <${TextInput} ...${{ id, value: value ?? '', suggestions, onChange: (text: string) => set(text || null) }} />`
}

const NoneInput = ({ id, label, value, set }: InputProps) =>
  html`<label for=${id}>${label}</label>
    <${TextInput}
      id=${id}
      value=${value === null ? '' : (readNone(value) ?? '')}
      suggestions=${[]}
      placeholder="none of a, b"
      onChange=${(text: string) => set(writeNone(text))}
    />`

function RangeInput({ id, label, control, value, set }: InputProps) {
  const { low, high } = (value === null ? null : readRange(value, control.bound)) ?? { low: '', high: '' }
  const end = (edge: 'low' | 'high', text: string, placeholder: string) =>
    html`<${TextInput}
      id=${edge === 'low' ? id : `${id}-high`}
      label=${`${label}, ${placeholder}`}
      value=${text}
      suggestions=${[]}
      placeholder=${placeholder}
      isNumeric
      onChange=${(next: string) => set(writeRange({ low, high, [edge]: next }, control.bound))}
    />`
  return html`<span class="label">${label}</span>
    <div class="range">${end('low', low, 'at least')} ${end('high', high, 'at most')}</div>`
}

const selectOf =
  (answers: readonly (readonly [value: string, text: string])[]) =>
  ({ id, label, value, set }: InputProps) =>
    html`<label for=${id}>${label}</label>
      <select
        id=${id}
        onChange=${({ currentTarget }: { currentTarget: HTMLSelectElement }) => set(currentTarget.value || null)}
      >
        ${[['', 'any'], ...answers].map(
          ([answer, text]) =>
            html`<option value=${answer} selected=${answer === (value ?? '')}>${text}</option>`,
        )}
      </select>`

const FLAGS = [
  ['true', 'yes'],
  ['false', 'no'],
] as const
const PRESENCES = [
  ['exists:true', 'there'],
  ['exists:false', 'not there'],
] as const

const INPUTS = {
  choice: ChoiceInput,
  flag: selectOf(FLAGS),
  presence: selectOf(PRESENCES),
  range: RangeInput,
  none: NoneInput,
  text: PlainInput,
}

/** The filter's default, or the reader's `strict.` parameter. */
function MissingChoice({ control, query, onChange }: Omit<FilterControlProps, 'suggest'>) {
  const name = `strict.${control.name}`
  const strict = parameterOf(query, name)
  const keeps = strict === null ? control.keepsMissing : strict === 'false'
  const toggle = (): void =>
    onChange(withValue(query, name, !keeps === control.keepsMissing ? null : String(keeps)))
  return html`<label class="choice hint">
    <input type="checkbox" checked=${keeps} onChange=${toggle} /> <span>also listings that do not say</span>
  </label>`
}
