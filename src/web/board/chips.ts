import { useEffect, useState } from 'preact/hooks'
import { numberAt } from '../common/source-report.ts'
import { untrustedText } from '../common/untrusted-text.ts'
import { html } from '../html.ts'
import { filterWords } from './filter-words.ts'
import type { Navigation } from './navigation.ts'
import { requestJson } from './state/answer.ts'
import { filtersOf, type Query, queryString, withValue } from './view.ts'

type ChipsProps = {
  navigation: Navigation
  apiKey: string | null
  /** Whether nothing matches: each chip then says what matches without it. */
  isEmpty: boolean
}

export function Chips({ navigation, apiKey, isEmpty }: ChipsProps) {
  const { view, search } = navigation
  const filters = filtersOf(view.query)
  const counts = useCountsWithout(isEmpty ? view.query : NO_QUERY, apiKey)
  if (filters.length === 0) return null
  return html`<ul class="chips" aria-label="Active filters">
    ${filters.map(([name]) => {
      const words = untrustedText(filterWords(view.query, name), MAX_CHIP_CHARS)
      const count = counts.get(name)
      return html`<li key=${name}>
        <button type="button" class="chip" onClick=${() => search(withValue(view.query, name, null), name)}>
          <bdi>${words}</bdi> <span aria-hidden="true">✕</span><span class="unseen">: remove this filter</span>
        </button>
        ${count !== undefined && html`<span class="hint">without this: ${count.toLocaleString('en')}</span>`}
      </li>`
    })}
    ${filters.length > 1 && html`<li><button type="button" class="quiet" onClick=${() => search([])}>Clear all</button></li>`}
  </ul>`
}

const MAX_CHIP_CHARS = 80
const MAX_COUNTED = 8
const NO_QUERY: Query = []

function useCountsWithout(query: Query, key: string | null): ReadonlyMap<string, number> {
  const [counts, setCounts] = useState<ReadonlyMap<string, number>>(new Map())
  const address = queryString(query)
  useEffect(() => {
    setCounts(new Map())
    const stopped = new AbortController()
    for (const [name] of filtersOf(query).slice(0, MAX_COUNTED)) {
      requestJson(
        `listings?${queryString([['limit', '1'], ...withValue(query, name, null)])}`,
        key,
        stopped.signal,
      ).then(
        (body) => {
          const total = numberAt(body, 'total_after_filter')
          if (total !== null && !stopped.signal.aborted) setCounts((old) => new Map(old).set(name, total))
        },
        () => {}, // the chip still removes its filter
      )
    }
    return () => stopped.abort()
  }, [address, key])
  return counts
}
