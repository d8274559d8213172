import { html } from '../html.ts'

type SelectBoxProps = {
  options: readonly (readonly [value: string, text: string])[]
  value: string
  onChange: (value: string) => void
  id?: string
  /** Where no label element names it. */
  label?: string
}

export const SelectBox = ({ options, value, onChange, id, label }: SelectBoxProps) =>
  html`<select
    id=${id}
    aria-label=${label}
    onChange=${({ currentTarget }: { currentTarget: HTMLSelectElement }) => onChange(currentTarget.value)}
  >
    ${options.map(([one, text]) => html`<option value=${one} selected=${one === value}>${text}</option>`)}
  </select>`
