import { strangerText } from '../../common/untrusted-text.ts'
import { html } from '../../html.ts'
import type { Control } from './controls.ts'
import { readChoices, writeChoices } from './filter-value.ts'

type ChoiceInputProps = {
  id: string
  label: string
  control: Pick<Control, 'choices'>
  value: string | null
  set: (value: string | null) => void
}

export function ChoiceInput({ id, label, control, value, set }: ChoiceInputProps) {
  const chosen = value === null ? [] : readChoices(value)
  const toggle = (choice: string): void =>
    set(writeChoices(control.choices.filter((one) => chosen.includes(one) !== (one === choice))))
  return html`<span class="label" id=${`${id}-label`}>${label}</span>
    <details class="choices" id=${id}>
      <summary aria-labelledby=${`${id}-label ${id}-chosen`}>
        <span id=${`${id}-chosen`}>${chosen.length === 0 ? 'any' : strangerText(chosen.join(', '))}</span>
      </summary>
      <div role="group" aria-labelledby=${`${id}-label`} tabindex="0">
        ${control.choices.map(
          (choice) =>
            html`<label class="choice" key=${choice}>
              <input type="checkbox" checked=${chosen.includes(choice)} onChange=${() => toggle(choice)} />
              <span>${strangerText(choice)}</span>
            </label>`,
        )}
      </div>
    </details>`
}
