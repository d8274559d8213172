import { useMemo } from 'preact/hooks'
import type { FacetJson, FacetsJson, PriceRangeJson } from '../../../wire/facets.ts'
import { parseAnswer } from '../../common/gateway.ts'
import { filtersOf, parameterOf, type Query, queryString, withValue } from '../view.ts'
import { type Answers, isError, useAnswers } from './answer.ts'

export type FacetCounts = {
  state: Answers<never>['state']
  total: number | null
  /** Whether the counts are exact, or at most that. */
  isExact: boolean
  /** By the parameter that chooses its values. */
  byName: ReadonlyMap<string, FacetJson>
  prices: readonly PriceRangeJson[]
  isComplete: boolean
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
  return useMemo(() => readFacets(answers), [answers])
}

/** The first covers the whole query; the others have one filter less. */
function addressesFor(query: Query, names: readonly string[]): string[] {
  const asked = query.filter(([name]) => name !== 'sort' && name !== 'require')
  const active = names.filter((name) => parameterOf(filtersOf(query), parameterFor(name)) !== null)
  const addressOf = (by: readonly string[], narrowed: Query): string =>
    `facets?${queryString([['by', by.join(',')], ...withoutTokenOnly(narrowed)])}`
  return [
    addressOf(
      names.filter((name) => !active.includes(name)),
      asked,
    ),
    ...active.map((name) => addressOf([name], withValue(asked, parameterFor(name), null))),
  ]
}

/** A token without a ceiling only orders. */
const withoutTokenOnly = (query: Query): Query =>
  parameterOf(query, 'price_max') === null ? query.filter(([name]) => name !== 'price_token') : query

const parameterFor = (name: string): string => (name === 'registry' ? 'sources' : name)

function readFacets({ state, byAddress }: Answers<FacetsJson>): FacetCounts {
  const bodies = [...byAddress.values()].flatMap((body) => (isError(body) ? [] : [body]))
  const [whole] = bodies
  if (whole === undefined || bodies.length < byAddress.size)
    return { state, total: null, isExact: true, byName: new Map(), prices: [], isComplete: true }
  const facets = bodies.flatMap((body) => Object.entries(body.facets))
  return {
    state,
    total: whole.total,
    isExact: whole.total_is === undefined,
    isComplete: whole.complete,
    byName: new Map(facets.map(([name, facet]) => [parameterFor(name), facet])),
    prices: whole.prices,
  }
}
