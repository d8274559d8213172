import { useState } from 'preact/hooks'
import { describeReason } from '../../../wire/describe-missing.ts'
import type { FleetJson } from '../../../wire/fleet.ts'
import { DataTable } from '../../common/data-table.ts'
import { stateWords } from '../../common/tone.ts'
import { html } from '../../html.ts'
import { type PanelProps, useLifetime, useNews } from '../panel.ts'
import { SOURCE_COLUMNS, sourceCells } from './source-cells.ts'
import { SourceDetailsView } from './source-details.ts'
import { byTrouble, type FleetSource, summaryOf } from './words.ts'

type SourcesPanelProps = PanelProps & { fleet: FleetJson; onChange: () => void }

export function SourcesPanel({ fleet, api, onError, onChange }: SourcesPanelProps) {
  const [wanted, setWanted] = useState('')
  const [isWhole, setWhole] = useState(false)
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set())
  const [news, setNews] = useNews()
  const lifetime = useLifetime()
  const now = Date.parse(fleet.at)
  const act = async (what: string, action: () => Promise<string>): Promise<void> => {
    try {
      setNews(await action())
      onChange()
    } catch (error) {
      if (!lifetime.aborted) setNews(`${what} failed: ${onError(error)}`)
    }
  }
  const refresh = ({ registry }: FleetSource) =>
    act(`Refreshing ${registry}`, async () => {
      await api.refresh(registry, lifetime)
      return `${registry}: cache cleared, fetching…`
    })
  const probe = ({ registry }: FleetSource) =>
    act(`Probing ${registry}`, async () => {
      const { state, last_error } = await api.probe(registry, lifetime)
      const why = state === 'loaded' || last_error === null ? '' : `, it ${describeReason(last_error.reason)}`
      return `${registry}: ${stateWords(state)}${why}`
    })
  const toggle = ({ registry }: FleetSource): void =>
    setOpened((before) => before.symmetricDifference(new Set([registry])))
  const { sources } = fleet
  const found = byTrouble(sources).filter(({ registry }) => registry.includes(wanted.trim().toLowerCase()))
  const shown = isWhole ? found : found.slice(0, SHOWN_AT_FIRST)
  return html`<section id="sources" class="stack box" aria-labelledby="sources-title">
    <h2 id="sources-title">Sources</h2>
    ${
      sources.length === 0
        ? html`<p>This is a plain Registry: it has no upstreams.</p>`
        : html`<p class="summary row">
              <strong>${summaryOf(sources)}</strong>
              <label class="row">
                Filter
                <input
                  type="search"
                  value=${wanted}
                  onInput=${({ currentTarget }: { currentTarget: HTMLInputElement }) => setWanted(currentTarget.value)}
                />
              </label>
            </p>
            <p role="status">${news}</p>
            ${shown.length === 0 && html`<p>No source has this in its name.</p>`}
            ${
              shown.length > 0 &&
              html`<${DataTable}
                label="All sources"
                name="sources"
                columns=${SOURCE_COLUMNS}
                rows=${shown.map((source) => ({
                  key: source.registry,
                  cells: sourceCells(source, {
                    now,
                    isOpen: opened.has(source.registry),
                    onToggle: () => toggle(source),
                    onRefresh: () => void refresh(source),
                    onProbe: () => void probe(source),
                  }),
                  details: opened.has(source.registry)
                    ? html`<${SourceDetailsView} source=${source} />`
                    : undefined,
                }))}
              />`
            }
            ${
              found.length > shown.length &&
              html`<p>
                <button type="button" onClick=${() => setWhole(true)}>Show all ${found.length}</button>
              </p>`
            }`
    }
  </section>`
}

const SHOWN_AT_FIRST = 12
