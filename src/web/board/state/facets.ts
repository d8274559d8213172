import { useEffect, useState } from 'preact/hooks'
import { at, type JsonValue, textAt } from '../../../json/value.ts'
import { listAt, numberAt } from '../../common/source-report.ts'
import { filtersOf, parameterOf, type Query, queryString, withValue } from '../view.ts'
import { requestJson } from './answer.ts'

export type Facet = {
  values: readonly { value: string; count: number }[]
  /** Listings with a value that is not among `values`, and without one. */
  other: number
  missing: number
}

/** Amounts are in whole tokens, or base units without a symbol. */
export type PriceSummary = {
  chain: string
  token: string
  symbol: string | null
  unit: string
  per: 'gpu' | 'offer'
  offers: number
  gpus: number
  least: string
  median: string
  most: string
}

export type FacetCounts = {
  state: 'loading' | 'ready' | 'failed'
  total: number | null
  /** By the parameter that chooses its values. */
  byName: ReadonlyMap<string, Facet>
  prices: readonly PriceSummary[]
  isComplete: boolean
}

type FacetsOptions = { key: string | null; refreshes: number }

/** Counts of each name's values. A filter does not narrow its own values, so that another one can be chosen. */
export function useFacets(
  query: Query,
  names: readonly string[] | null,
  { key, refreshes }: FacetsOptions,
): FacetCounts {
  const [shown, setShown] = useState<FacetCounts & { key: string | null }>({ ...NONE, key })
  const requests = names === null ? [] : requestsFor(query, names)
  const address = requests.map(({ address }) => address).join('\n')
  useEffect(() => {
    if (requests.length === 0) return
    const stopped = new AbortController()
    setShown((old) => (old.key === key ? { ...old, state: 'loading' } : { ...NONE, key }))
    Promise.all(requests.map(({ address }) => requestJson(address, key, stopped.signal))).then(
      (bodies) => setShown({ ...readFacets(requests, bodies), key }),
      () => stopped.signal.aborted || setShown({ ...NONE, state: 'failed', key }),
    )
    return () => stopped.abort()
  }, [address, key, refreshes])
  return shown
}

const NONE: FacetCounts = { state: 'loading', total: null, byName: new Map(), prices: [], isComplete: true }

type FacetRequest = { names: readonly string[]; address: string }

/** The first covers the whole query; the others have one filter less. */
function requestsFor(query: Query, names: readonly string[]): FacetRequest[] {
  const asked = query.filter(([name]) => name !== 'sort' && name !== 'require')
  const isActive = (name: string): boolean => parameterOf(filtersOf(query), parameterFor(name)) !== null
  const requestOf = (group: readonly string[], narrowed: Query): FacetRequest => ({
    names: group,
    address: `facets?${queryString([['by', group.join(',')], ...narrowed])}`,
  })
  return [
    requestOf(
      names.filter((name) => !isActive(name)),
      withoutTokenOnly(asked),
    ),
    ...names
      .filter(isActive)
      .map((name) => requestOf([name], withoutTokenOnly(withValue(asked, parameterFor(name), null)))),
  ]
}

/** A token without a ceiling only orders. */
const withoutTokenOnly = (query: Query): Query =>
  parameterOf(query, 'price_max') === null ? query.filter(([name]) => name !== 'price_token') : query

const parameterFor = (name: string): string => (name === 'registry' ? 'sources' : name)

function readFacets(requests: readonly FacetRequest[], bodies: readonly JsonValue[]): FacetCounts {
  const [whole = null] = bodies
  return {
    state: 'ready',
    total: numberAt(whole, 'total'),
    isComplete: at(whole, 'complete') !== false,
    byName: new Map(
      requests.flatMap(({ names }, n) =>
        names.map((name) => [parameterFor(name), readFacet(bodies[n], name)] as const),
      ),
    ),
    prices: listAt(whole, 'prices').map((price) => ({
      chain: textAt(price, 'chain') ?? '',
      token: textAt(price, 'token') ?? '',
      symbol: textAt(price, 'symbol'),
      unit: textAt(price, 'unit') ?? '',
      per: textAt(price, 'price_per') === 'offer' ? 'offer' : 'gpu',
      offers: numberAt(price, 'offers') ?? 0,
      gpus: numberAt(price, 'gpus') ?? 0,
      least: textAt(price, 'least') ?? '',
      median: textAt(price, 'median') ?? '',
      most: textAt(price, 'most') ?? '',
    })),
  }
}

function readFacet(body: JsonValue | undefined, name: string): Facet {
  const facet = at(body, 'facets', name)
  return {
    values: listAt(facet, 'values').map((entry) => ({
      value: textAt(entry, 'value') ?? '',
      count: numberAt(entry, 'count') ?? 0,
    })),
    other: numberAt(facet, 'other') ?? 0,
    missing: numberAt(facet, 'missing') ?? 0,
  }
}
