import { untrustedText } from '../common/untrusted-text.ts'
import { readChoices, readExclusions, readRange } from './filters/controls.ts'
import { formatMember, inputUnit, labelOf } from './members.ts'
import { filtersOf, parameterOf, type Query } from './view.ts'

/** `GPU model: H100, H200`, `RAM: at least 64 GB`. */
export function filterWords(query: Query, name: string): string {
  const value = parameterOf(query, name) ?? ''
  const label = labelOf(name)
  if (name === 'price_max')
    return `At most ${value} ${parameterOf(query, 'price_token') ?? ''}${parameterOf(query, 'price_per') === 'offer' ? ' for the offer' : ' per GPU'}`
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
      return `${range.low}+ ${inputUnit(name) ?? ''} ${labelOf(name)}`.replace('  ', ' ')
    return filterWords(query, name).replace(/^(GPU model|Region|Service): /, '')
  })
  return untrustedText(
    [...(words.length === 0 ? [] : [words.join(', ')]), 'entrepot'].join(' · '),
    MAX_TITLE_CHARS,
  )
}

const MAX_TITLE_CHARS = 150
