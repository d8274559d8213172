import { parseAnswer } from '../common/gateway.ts'
import { untrustedText } from '../common/untrusted-text.ts'
import { html } from '../html.ts'
import { readChoices, readExclusions, readRange } from './filters/controls.ts'
import { filterLabel, formatMember, inputUnit } from './members.ts'
import type { Navigation } from './navigation.ts'
import { useAnswers } from './state/answer.ts'
import { filtersOf, parameterOf, type Query, queryString, withValue } from './view.ts'

type ChipsProps = {
  navigation: Navigation
  apiKey: string | null
  /** Whether nothing matches: each chip then shows what matches without it. */
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

const PER_WORDS: Readonly<Record<string, string>> = {
  gpu: 'per GPU-hour',
  offer: 'for the offer',
  gb: 'per GB of GPU memory and hour',
  tflop: 'per FP16 TFLOP and hour',
}

/** `GPU model: H100, H200`, `RAM: at least 64 GB`. */
export function filterWords(query: Query, name: string): string {
  const value = parameterOf(query, name) ?? ''
  const label = filterLabel(name)
  if (name === 'price_max')
    return `≤ ${value} ${parameterOf(query, 'price_token') ?? ''} ${PER_WORDS[parameterOf(query, 'price_per') ?? 'gpu']}`
  if (name === 'status') return `${label}: ${value === '' ? 'any' : value}`
  if (value.startsWith('exists:')) return `${label}: ${value === 'exists:true' ? 'yes' : 'no'}`
  const excluded = readExclusions(value)
  if (excluded !== null) return `${label}: not ${excluded}`
  const range = readRange(value, boundOf(name))
  if (range !== null && /^[\d.]*$/.test(range.low + range.high))
    return `${label}: ${rangeWords(range, inputUnit(name))}`
  return `${label}: ${readChoices(value)
    .map((one) => formatMember(name, one))
    .join(', ')}`
}

const boundOf = (name: string) =>
  name.endsWith('_min') ? 'lower_bound' : name.endsWith('_max') ? 'upper_bound' : null

function rangeWords({ low, high }: { low: string; high: string }, unit: string | null): string {
  const words =
    low === ''
      ? `at most ${high}`
      : high === ''
        ? `at least ${low}`
        : low === high
          ? low
          : `${low} to ${high}`
  return unit === null ? words : `${words} ${unit}`
}

/** `H100, H200, 8+ GPUs · entrepot`. */
export function titleOf(query: Query): string {
  const words = filtersOf(query).map(([name, value]) => {
    const range = readRange(value, boundOf(name))
    if (range !== null && /^\d+$/.test(range.low) && range.high === '')
      return `${range.low}+ ${inputUnit(name) ?? ''} ${filterLabel(name)}`.replace('  ', ' ')
    return filterWords(query, name).replace(/^(GPU model( as written)?|Place|Country|Region|Service): /, '')
  })
  return untrustedText(
    [...(words.length === 0 ? [] : [words.join(', ')]), 'entrepot'].join(' · '),
    MAX_TITLE_CHARS,
  )
}

const MAX_TITLE_CHARS = 150
