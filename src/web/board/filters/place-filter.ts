import { useRef, useState } from 'preact/hooks'
import type { FacetJson, FacetsJson } from '../../../wire/facets.ts'
import { parseAnswer } from '../../common/gateway.ts'
import { html } from '../../html.ts'
import { filterLabel, formatMember } from '../members.ts'
import { isError, useAnswers } from '../state/answer.ts'
import { countedQuery, PLACES, withoutPlaces } from '../state/facets.ts'
import { parameterOf, type Query, queryString, withValues } from '../view.ts'
import { canChoose, readChoices, toggleChoice } from './controls.ts'
import { Choice, useSteadyCounts } from './facet-list.ts'
import { MissingChoice } from './filter-control.ts'

type Place = (typeof PLACES)[number]

type PlaceFilterProps = {
  query: Query
  /** Of continents. */
  facet: FacetJson | null
  options: { key: string | null; refreshes: number }
  onChange: (query: Query) => void
}

/** Continents, which unfold to countries, and these to regions as sellers write them. Boxes of one level combine. */
export function PlaceFilter({ query, facet, options, onChange }: PlaceFilterProps) {
  const [open, setOpen] = useState<readonly string[]>([])
  const continents = useSteadyCounts(facet)
  const inside = useInside(open, query, options)
  const chosenOf = (level: Place): string[] => {
    const value = parameterOf(query, level)
    return value === null ? [] : readChoices(value)
  }
  const toggle = (level: Place, value: string): void =>
    onChange(withValues(query, { ...NOWHERE, [level]: toggleChoice(chosenOf(level), value) }))
  const fold = (key: string): void =>
    setOpen(open.includes(key) ? open.filter((one) => one !== key) : [...open, key])
  const arrowOf = (key: string): string => (open.includes(key) ? '▾' : '▸')
  const below = (key: string, level: Place): unknown =>
    open.includes(key) &&
    html`<ul>${inside.get(key)?.map((one) => branch(level, one)) ?? html`<li class="hint">Loading…</li>`}</ul>`
  const branch = (level: Place, { value, count }: { value: string; count: number | null }): unknown => {
    const key = `${level} ${value}`
    const lower = levelBelow(level)
    const words = formatMember(level, value)
    return html`<li key=${key}>
      <div class="branch">
        ${lower !== null && html`<button type="button" class="quiet fold" aria-expanded=${open.includes(key)} aria-label=${`${NOUNS[lower]} in ${words}`} onClick=${() => fold(key)}>${arrowOf(key)}</button>`}
        <${Choice} ...${{ value, count, words }} isChosen=${chosenOf(level).includes(value)} onToggle=${() => toggle(level, value)} />
      </div>
      ${lower !== null && below(key, lower)}
    </li>`
  }
  const missing = facet?.missing ?? 0
  const unknown = () => html`<li key=${UNKNOWN}>
    <button type="button" class="quiet fold" aria-expanded=${open.includes(UNKNOWN)} onClick=${() => fold(UNKNOWN)}>
      ${arrowOf(UNKNOWN)} place not known (${missing.toLocaleString('en')})
    </button>
    ${below(UNKNOWN, 'region')}
  </li>`
  const unfolded = open.flatMap((key) => inside.get(key)?.map(({ value }) => value) ?? [])
  const further = PLACES.flatMap((level) =>
    chosenOf(level)
      .filter((value) => !unfolded.includes(value) && !continents.some((one) => one.value === value))
      .map((value) => ({ level, value })),
  )
  const active = PLACES.find((level) => parameterOf(query, level) !== null)
  if (continents.length === 0 && further.length === 0) return null
  return html`<fieldset class="filter stack" id="filter-place">
    <legend>${filterLabel('continent')}</legend>
    <ul class="values places">
      ${further.map(({ level, value }) => branch(level, { value, count: null }))}
      ${continents.map((one) => branch('continent', one))}
      ${missing > 0 && unknown()}
    </ul>
    ${active !== undefined && html`<${MissingChoice} control=${{ name: active, keepsMissing: false }} ...${{ query, onChange }} />`}
  </fieldset>`
}

const NOWHERE = Object.fromEntries(PLACES.map((level) => [level, null]))
/** The key of what has no known place. */
const UNKNOWN = 'unknown'
const NOUNS = { continent: 'Continents', country: 'Countries', region: 'Regions' }

const levelBelow = (level: Place): Place | null => PLACES[PLACES.indexOf(level) + 1] ?? null

type Inside = ReadonlyMap<string, FacetJson['values']>

/** What is inside of each open place, by `continent EU`, `country DE` and `unknown`; what was known while others are loading. */
function useInside(open: readonly string[], query: Query, options: PlaceFilterProps['options']): Inside {
  const latest = useRef<Inside>(new Map())
  const addresses = open.map((key) => addressOf(key, query))
  const { byAddress } = useAnswers<FacetsJson>(addresses, parseAnswer, options)
  latest.current = new Map(
    open.flatMap((key, n) => {
      const answer = byAddress.get(addresses[n]!)
      const facet = answer === undefined || isError(answer) ? undefined : Object.values(answer.facets)[0]
      const values = facet?.values.filter(({ value }) => canChoose(value)) ?? latest.current.get(key)
      return values === undefined ? [] : [[key, values] as const]
    }),
  )
  return latest.current
}

function addressOf(key: string, query: Query): string {
  const asked = withoutPlaces(countedQuery(query))
  if (key === UNKNOWN)
    return `facets?${queryString([['by', 'region'], ...asked, ['continent', 'exists:false']])}`
  const [level, value] = key.split(/ (.*)/s) as [Place, string]
  return `facets?${queryString([['by', levelBelow(level)!], ...asked, [level, value]])}`
}
