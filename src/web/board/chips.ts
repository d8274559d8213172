import { parseAnswer } from '../common/gateway.ts'
import { untrustedText } from '../common/untrusted-text.ts'
import { html } from '../html.ts'
import { filterWords } from './filter-words.ts'
import type { Navigation } from './navigation.ts'
import { useAnswers } from './state/answer.ts'
import { filtersOf, queryString, withValue } from './view.ts'

type ChipsProps = {
  navigation: Navigation
  apiKey: string | null
  /** Whether nothing matches: each chip then says what matches without it. */
  isEmpty: boolean
}

export function Chips({ navigation, apiKey, isEmpty }: ChipsProps) {
  const { view, go } = navigation
  const filters = filtersOf(view.query)
  const countsWithout = (name: string): string =>
    `listings?${queryString([['limit', '1'], ...withValue(view.query, name, null)])}`
  const { byAddress } = useAnswers(
    isEmpty ? filters.slice(0, MAX_COUNTED).map(([name]) => countsWithout(name)) : [],
    readTotal,
    { key: apiKey },
  )
  if (filters.length === 0) return null
  return html`<ul class="chips row" aria-label="Active filters">
    ${filters.map(([name]) => {
      const words = untrustedText(filterWords(view.query, name), MAX_CHIP_CHARS)
      const count = isEmpty ? byAddress.get(countsWithout(name)) : undefined
      return html`<li class="row" key=${name}>
        <button type="button" class="chip" onClick=${() => go({ query: withValue(view.query, name, null) }, name)}>
          <bdi>${words}</bdi> <span aria-hidden="true">✕</span><span class="unseen">: remove this filter</span>
        </button>
        ${typeof count === 'number' && html`<span class="hint">without this: ${count.toLocaleString('en')}</span>`}
      </li>`
    })}
    ${filters.length > 1 && html`<li><button type="button" class="quiet" onClick=${() => go({ query: [] })}>Clear all</button></li>`}
  </ul>`
}

const MAX_CHIP_CHARS = 80
const MAX_COUNTED = 8

const readTotal = (bytes: Uint8Array): number => parseAnswer(bytes).total_after_filter
