import { ORDERS, type Order } from './data/prices.ts'

/** The address holds all of it, so that a view can be shared. */
export type View = {
  /** Decoded parameters of `GET /listings`, without paging. */
  query: readonly QueryParameter[]
  open: OpenListing | null
  order: Order
}

export type QueryParameter = readonly [name: string, value: string]
export type OpenListing = { id: string; registry: string | null }

/** The board pages by itself. */
const PAGING_PARAMETERS = new Set(['limit', 'offset', 'cursor', 'explain'])

/** The search is the gateway's query, the fragment the board's own. */
export function readView({ search, hash }: Pick<URL, 'search' | 'hash'>): View {
  const fragment = new URLSearchParams(hash.slice(1))
  const id = fragment.get('listing')
  return {
    query: [...new Map(new URLSearchParams(search))].filter(([name, value]) => belongsToView(name, value)),
    open: id === null || id === '' ? null : { id, registry: fragment.get('registry') },
    order: ORDERS.find((order) => order === fragment.get('order')) ?? 'newest',
  }
}

/** An empty filter is not applied; an empty status means all. */
const belongsToView = (name: string, value: string): boolean =>
  !PAGING_PARAMETERS.has(name) && (value !== '' || name === 'status')

/** Never empty: an empty URL would keep the old search. */
export function writeView({ query, open, order }: View): string {
  const fragment = new URLSearchParams({
    ...(order === 'newest' ? {} : { order }),
    ...(open === null ? {} : { listing: open.id }),
    ...(open === null || open.registry === null ? {} : { registry: open.registry }),
  })
  return `?${queryString(query)}${fragment.size === 0 ? '' : `#${fragment}`}`
}

export const queryString = (query: readonly QueryParameter[]): string =>
  new URLSearchParams(query.map(([name, value]) => [name, value])).toString()

export const parameterOf = (query: readonly QueryParameter[], name: string): string | null =>
  query.find(([other]) => other === name)?.[1] ?? null

/** Keeps the parameter's place; `null` removes it. */
export function withValue(
  query: readonly QueryParameter[],
  name: string,
  value: string | null,
): readonly QueryParameter[] {
  if (value === null) return query.filter(([other]) => other !== name)
  if (parameterOf(query, name) === null) return [...query, [name, value]]
  return query.map((parameter) => (parameter[0] === name ? [name, value] : parameter))
}
