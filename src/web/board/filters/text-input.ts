import { useState } from 'preact/hooks'
import { strangerText } from '../../common/untrusted-text.ts'
import { html } from '../../html.ts'

type TextInputProps = {
  id: string
  value: string
  onChange: (text: string) => void
  /** A function is called on focus. */
  suggestions: readonly string[] | (() => readonly string[])
  label?: string
  placeholder?: string
  isNumeric?: boolean
}

/** Takes effect on blur or Enter. */
export function TextInput(props: TextInputProps) {
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
      onFocus=${() => show(typeof suggestions === 'function' ? suggestions() : suggestions)}
      onChange=${({ currentTarget }: { currentTarget: HTMLInputElement }) => onChange(currentTarget.value.trim())}
    />${list && html`<datalist id=${list}>${shown.map((text) => html`<option value=${text}>${strangerText(text)}</option>`)}</datalist>`}`
}
