import { useState } from 'preact/hooks'
import { untrustedText } from '../../common/untrusted-text.ts'
import { html } from '../../html.ts'
import { parameterOf, type QueryParameter, withValue } from '../view.ts'
import {
  type Control,
  canShow,
  readChoices,
  readExclusions,
  readRange,
  writeChoices,
  writeExclusions,
  writeRange,
} from './controls.ts'

type FilterControlProps = {
  control: Control
  query: readonly QueryParameter[]
  onChange: (query: readonly QueryParameter[]) => void
  suggest: (path: readonly string[]) => readonly string[]
}

export function FilterControl({ control, query, onChange, suggest }: FilterControlProps) {
  const { name, label, registries } = control
  const value = parameterOf(query, name)
  const set = (next: string | null): void => {
    const changed = withValue(query, name, next)
    onChange(next === null ? withValue(changed, `strict.${name}`, null) : changed)
  }
  const input = { id: `filter-${name}`, label: untrustedText(label), control, value, set, suggest }
  return html`<div class="filter">
    ${
      value === null || canShow(control, value)
        ? html`<${INPUTS[control.kind]} ...${input} />`
        : html`<${PlainInput} ...${input} />`
    }
    ${registries !== null && html`<p class="hint">only ${registries.map((one) => untrustedText(one)).join(', ')}</p>`}
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
  const { path } = control
  const suggestions = path === null ? undefined : () => suggest(path)
  return html`<label for=${id}>${label}</label>
    <${TextInput} ...${{ id, value: value ?? '', suggestions, onChange: (text: string) => set(text || null) }} />`
}

const NoneInput = ({ id, label, value, set }: InputProps) =>
  html`<label for=${id}>${label}</label>
    <${TextInput}
      id=${id}
      value=${value === null ? '' : (readExclusions(value) ?? '')}
      placeholder="none of a, b"
      onChange=${(text: string) => set(writeExclusions(text))}
    />`

function RangeInput({ id, label, control, value, set }: InputProps) {
  const { low, high } = (value === null ? null : readRange(value, control.bound)) ?? { low: '', high: '' }
  const end = (edge: 'low' | 'high', text: string, placeholder: string) =>
    html`<${TextInput}
      id=${edge === 'low' ? id : `${id}-high`}
      label=${`${label}, ${placeholder}`}
      value=${text}
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
  ['exists:true', 'present'],
  ['exists:false', 'absent'],
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
    <input type="checkbox" checked=${keeps} onChange=${toggle} /> <span>include listings without this value</span>
  </label>`
}

function ChoiceInput({ id, label, control, value, set }: InputProps) {
  const chosen = value === null ? [] : readChoices(value)
  const toggle = (choice: string): void =>
    set(writeChoices(control.choices.filter((one) => chosen.includes(one) !== (one === choice))))
  return html`<span class="label" id=${`${id}-label`}>${label}</span>
    <details class="choices" id=${id}>
      <summary aria-labelledby=${`${id}-label ${id}-chosen`}>
        <span id=${`${id}-chosen`}>${chosen.length === 0 ? 'any' : untrustedText(chosen.join(', '))}</span>
      </summary>
      <div role="group" aria-labelledby=${`${id}-label`} tabindex="0">
        ${control.choices.map(
          (choice) =>
            html`<label class="choice" key=${choice}>
              <input type="checkbox" checked=${chosen.includes(choice)} onChange=${() => toggle(choice)} />
              <span>${untrustedText(choice)}</span>
            </label>`,
        )}
      </div>
    </details>`
}

type TextInputProps = {
  id: string
  value: string
  onChange: (text: string) => void
  /** Called on focus. */
  suggestions?: (() => readonly string[]) | undefined
  label?: string
  placeholder?: string
  isNumeric?: boolean
}

/** Takes effect on blur or Enter. */
function TextInput(props: TextInputProps) {
  const { id, value, onChange, suggestions, label, placeholder, isNumeric = false } = props
  const [shown, show] = useState<readonly string[]>([])
  const list = shown.length === 0 ? undefined : `${id}-list`
  return html`<input
      id=${id}
      value=${value}
      list=${list}
      aria-label=${label}
      placeholder=${placeholder}
      inputmode=${isNumeric ? 'decimal' : undefined}
      autocomplete="off"
      spellcheck=${false}
      onFocus=${() => show(suggestions?.() ?? [])}
      onChange=${({ currentTarget }: { currentTarget: HTMLInputElement }) => onChange(currentTarget.value.trim())}
    />${list && html`<datalist id=${list}>${shown.map((text) => html`<option value=${text}>${untrustedText(text)}</option>`)}</datalist>`}`
}
