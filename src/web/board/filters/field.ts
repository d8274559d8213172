import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { html } from '../../html.ts'

type FieldProps = {
  id: string
  value: string
  /** Why a text cannot be sent; `null` if it can. */
  faultOf: (text: string) => string | null
  onChange: (text: string) => void
  /** Of the gateway, about `value`. */
  refusal?: string | null
  label?: string
  placeholder?: string
  isNumeric?: boolean
}

/** A text that takes effect on blur or Enter. One that cannot be sent stays in the field, with the reason below it. */
export function Field(props: FieldProps) {
  const { id, value, faultOf, onChange, refusal = null, label, placeholder, isNumeric } = props
  const input = useRef<HTMLInputElement>(null)
  const [draft, setDraft] = useState<{ text: string; of: string } | null>(null)
  const text = draft?.of === value ? draft.text : value
  // As a property it would be set at every render, over what is being typed.
  useLayoutEffect(() => {
    input.current!.value = text
  }, [text])
  const fault = faultOf(text) ?? (draft?.of === value ? null : refusal)
  const change = (typed: string): void => {
    const isSendable = faultOf(typed) === null
    setDraft(isSendable ? null : { text: typed, of: value })
    if (isSendable && typed !== value) onChange(typed)
  }
  return html`<span class="field stack">
    <input
      ref=${input}
      id=${id}
      aria-label=${label}
      placeholder=${placeholder}
      inputmode=${isNumeric ? 'decimal' : undefined}
      autocomplete="off"
      spellcheck=${false}
      aria-invalid=${fault === null ? undefined : 'true'}
      aria-describedby=${fault === null ? undefined : `${id}-fault`}
      onChange=${({ currentTarget }: { currentTarget: HTMLInputElement }) => change(currentTarget.value.trim())}
    />
    ${fault !== null && html`<span class="fault" id=${`${id}-fault`} role="alert">${fault}</span>`}
  </span>`
}
