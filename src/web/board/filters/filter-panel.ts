import { untrustedText } from '../../common/untrusted-text.ts'
import { html } from '../../html.ts'
import { parameterOf, type QueryParameter, withValue } from '../view.ts'
import type { Control } from './controls.ts'
import { FilterControl } from './filter-control.ts'

type FilterPanelProps = {
  controls: readonly Control[]
  sources: readonly string[]
  query: readonly QueryParameter[]
  onChange: (query: readonly QueryParameter[]) => void
  suggest: (path: readonly string[]) => readonly string[]
}

const STATUSES = [
  ['open', 'open'],
  ['closed', 'closed'],
  ['expired', 'expired'],
  ['', 'any'],
]

export function FilterPanel({ controls, sources, query, onChange, suggest }: FilterPanelProps) {
  const set = (name: string, value: string | null): void => onChange(withValue(query, name, value))
  const local = controls.filter(({ registries }) => registries === null)
  const others = controls.filter(({ registries }) => registries !== null)
  const show = (control: Control) =>
    html`<${FilterControl} key=${control.name} ...${{ control, query, onChange, suggest }} />`
  return html`<form class="filters" aria-label="Filters" onSubmit=${(event: Event) => event.preventDefault()}>
    <div class="filter">
      <label for="status">status</label>
      <select
        id="status"
        onChange=${({ currentTarget }: { currentTarget: HTMLSelectElement }) =>
          set('status', currentTarget.value === 'open' ? null : currentTarget.value)}
      >
        ${STATUSES.map(
          ([value, text]) =>
            html`<option value=${value} selected=${value === (parameterOf(query, 'status') ?? 'open')}>${text}</option>`,
        )}
      </select>
    </div>
    ${sources.length > 1 && html`<${SourceChoice} ...${{ sources, query, set }} />`}
    ${local.map(show)}
    ${others.length > 0 && html`<h3>Filters of some Registries only</h3>`} ${others.map(show)}
    <div class="filter">
      <label for="publisher">publisher</label>
      <input
        id="publisher"
        value=${parameterOf(query, 'publisher') ?? ''}
        placeholder="0x…"
        spellcheck=${false}
        onChange=${({ currentTarget }: { currentTarget: HTMLInputElement }) =>
          set('publisher', currentTarget.value.trim() || null)}
      />
    </div>
  </form>`
}

type SourceChoiceProps = {
  sources: readonly string[]
  query: readonly QueryParameter[]
  set: (name: string, value: string | null) => void
}

/** Without the parameter, all sources are requested. */
function SourceChoice({ sources, query, set }: SourceChoiceProps) {
  const selected = parameterOf(query, 'sources')?.split(',') ?? sources
  const toggle = (name: string): void => {
    const next = sources.filter((one) => selected.includes(one) !== (one === name))
    set('sources', next.length === sources.length || next.length === 0 ? null : next.join(','))
  }
  return html`<fieldset class="filter">
    <legend>Registries</legend>
    ${sources.map(
      (name) =>
        html`<label class="choice" key=${name}>
          <input type="checkbox" checked=${selected.includes(name)} onChange=${() => toggle(name)} />
          <span>${untrustedText(name)}</span>
        </label>`,
    )}
  </fieldset>`
}
