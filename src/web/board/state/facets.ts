import { useMemo } from 'preact/hooks'
import type { FacetJson, FacetsJson } from '../../../wire/facets.ts'
import { parseAnswer } from '../../common/gateway.ts'
import { filtersOf, parameterOf, type Query, queryString, withValue } from '../view.ts'
import { type Answers, isError, useAnswers } from './answer.ts'
import { type MarketPrices, NO_PRICES, readMarketPrices } from './market-prices.ts'

export type FacetCounts = {
  state: Answers<never>['state']
  total: number | null
  /** By the parameter that chooses its values. */
  byName: ReadonlyMap<string, FacetJson>
  market: MarketPrices
  /** Sources that are not counted. */
  uncounted: readonly string[]
}

type FacetsOptions = { key: string | null; refreshes: number }

/** Counts of each name's values. A filter does not narrow its own values, so that another one can be chosen. */
export function useFacets(
  query: Query,
  names: readonly string[] | null,
  options: FacetsOptions,
): FacetCounts {
  const addresses = names === null ? [] : addressesFor(query, names)
  const answers = useAnswers<FacetsJson>(addresses, parseAnswer, options)
  const counts = useMemo(() => readFacets(answers), [answers])
  const all = useAnswers<FacetsJson>(
    counts.total === 0 && names !== null ? [`facets?by=${names.join(',')}`] : [],
    parseAnswer,
    options,
  )
  return useMemo(() => withAllValues(counts, readFacets(all)), [counts, all])
}

/** Where nothing matches, a filter shows the values of the whole market, which match nothing either. */
function withAllValues(counts: FacetCounts, all: FacetCounts): FacetCounts {
  if (counts.total !== 0) return counts
  const byName = [...counts.byName].map(([name, facet]) => {
    const values = all.byName.get(name)?.values.map(({ value }) => ({ value, count: 0 })) ?? []
    return [name, facet.values.length > 0 ? facet : { ...facet, values }] as const
  })
  return { ...counts, byName: new Map(byName) }
}

/** From the widest to the narrowest. They are one filter to a reader, and are left out together. */
export const PLACES = ['continent', 'country', 'region'] as const

const isPlace = (name: string): boolean => PLACES.some((one) => one === name)

export const withoutPlaces = (query: Query): Query =>
  query.filter(([name]) => !isPlace(name.replace(/^strict\./, '')))

/** The first covers the whole query; the others have one filter less. */
function addressesFor(query: Query, names: readonly string[]): string[] {
  const asked = countedQuery(query)
  const isActive = (name: string): boolean => parameterOf(filtersOf(query), parameterFor(name)) !== null
  const active = names.filter((name) => (isPlace(name) ? PLACES.some(isActive) : isActive(name)))
  const addressOf = (by: readonly string[], narrowed: Query): string =>
    `facets?${queryString([['by', by.join(',')], ...(by.includes('gpu') ? [['prices_by', 'gpu'] as const] : []), ...narrowed])}`
  return [
    addressOf(
      names.filter((name) => !active.includes(name)),
      asked,
    ),
    ...active.map((name) =>
      addressOf([name], isPlace(name) ? withoutPlaces(asked) : withValue(asked, parameterFor(name), null)),
    ),
  ]
}

/** What is counted: without an order, and a token without a ceiling only orders. */
export function countedQuery(query: Query): Query {
  const isLimited = parameterOf(query, 'price_max') !== null
  return query.filter(
    ([name]) => name !== 'sort' && name !== 'require' && (isLimited || name !== 'price_token'),
  )
}

const parameterFor = (name: string): string => (name === 'registry' ? 'sources' : name)

function readFacets({ state, byAddress }: Answers<FacetsJson>): FacetCounts {
  const bodies = [...byAddress.values()].flatMap((body) => (isError(body) ? [] : [body]))
  const [whole] = bodies
  if (whole === undefined || bodies.length < byAddress.size)
    return { state, total: null, byName: new Map(), market: NO_PRICES, uncounted: [] }
  const facets = bodies.flatMap((body) => Object.entries(body.facets))
  return {
    state,
    total: whole.total,
    uncounted: whole.sources.filter(({ state }) => state === 'skipped').map(({ registry }) => registry),
    byName: new Map(facets.map(([name, facet]) => [parameterFor(name), facet])),
    market: readMarketPrices(whole, bodies.find((body) => Object.hasOwn(body.facets, 'gpu')) ?? whole),
  }
}
