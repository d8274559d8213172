import { useState } from 'preact/hooks'
import { plural } from '../../domain/plural.ts'
import type { SpellingJson } from '../../wire/vocabulary.ts'
import { type DataColumn, DataTable } from '../common/data-table.ts'
import { untrustedText } from '../common/untrusted-text.ts'
import { html } from '../html.ts'
import { formatCount } from './chart.ts'
import { type PanelProps, Section, useLifetime } from './panel.ts'

/** Models and places that the tables do not have, so that no buyer who asks by them finds these listings. */
export function VocabularyPanel({ api, onError }: PanelProps) {
  const [spellings, setSpellings] = useState<readonly SpellingJson[]>([])
  const [news, setNews] = useState('')
  const [isWhole, setWhole] = useState(false)
  const lifetime = useLifetime()
  const load = async (): Promise<void> => {
    setNews('Reading the listings of all sources…')
    try {
      const { not_recognised, complete } = await api.vocabulary(lifetime)
      setSpellings(not_recognised)
      setNews(`${summaryOf(not_recognised)}${complete ? '' : ' of the sources that answered'}`)
    } catch (error) {
      if (!lifetime.aborted) setNews(`The listings could not be read: ${onError(error)}`)
    }
  }
  return html`<${Section} id="vocabulary" title="Names not recognised">
    <p class="row">
      <button type="button" onClick=${load}>Read the listings</button>
      <span role="status">${news}</span>
    </p>
    ${
      spellings.length > 0 &&
      html`<p class="hint">
          No buyer who filters by model or place finds these listings. Name them in the files of <code>[vocabulary]</code>, then
          reload the configuration.
        </p>
        <${DataTable}
          label="Names not recognised"
          name="vocabulary"
          columns=${COLUMNS}
          rows=${(isWhole ? spellings : spellings.slice(0, SHOWN_AT_FIRST)).map(rowOf)}
        />`
    }
    ${
      spellings.length > SHOWN_AT_FIRST &&
      html`<p>
        <button type="button" aria-expanded=${isWhole} onClick=${() => setWhole(!isWhole)}>
          ${isWhole ? 'Show fewer' : `Show all ${spellings.length}`}
        </button>
      </p>`
    }
  <//>`
}

const SHOWN_AT_FIRST = 12

const COLUMNS: readonly DataColumn[] = [
  { title: 'As written', isHeader: true },
  { title: 'Member' },
  { title: 'Source' },
  { title: 'Listings', isNumber: true },
]

const rowOf = ({ source, field, text, count }: SpellingJson) => ({
  key: [source, field, text].join('\n'),
  cells: [untrustedText(text), field, source, formatCount(count)],
})

function summaryOf(spellings: readonly SpellingJson[]): string {
  if (spellings.length === 0) return 'All models and places are recognised in the listings'
  const listings = spellings.reduce((sum, { count }) => sum + count, 0)
  return `${plural(spellings.length, 'name')} in ${plural(listings, 'listing')}`
}
