import { ORDERS, type Order } from './table/ordered-rows.ts'

/** The address holds all of it, so that a view can be shared. */
export type View = {
  /** Decoded parameters of `GET /listings`, without paging. */
  query: readonly Parameter[]
  open: OpenListing | null
  order: Order
}

export type Parameter = readonly [name: string, value: string]
export type OpenListing = { id: string; registry: string | null }

/** The board pages by itself. */
const NOT_KEPT = new Set(['limit', 'offset', 'cursor', 'explain'])

/** The search is the gateway's query, the fragment the board's own. */
export function readView({ search, hash }: Pick<URL, 'search' | 'hash'>): View {
  const fragment = new URLSearchParams(hash.slice(1))
  const id = fragment.get('listing')
  return {
    query: [...new Map(new URLSearchParams(search))].filter(([name, value]) => isKept(name, value)),
    open: id === null || id === '' ? null : { id, registry: fragment.get('registry') },
    order: ORDERS.find((order) => order === fragment.get('order')) ?? 'newest',
  }
}

/** An empty filter is not applied; an empty status means all. */
const isKept = (name: string, value: string): boolean =>
  !NOT_KEPT.has(name) && (value !== '' || name === 'status')

/** Never empty: an empty URL would keep the old search. */
export function writeView({ query, open, order }: View): string {
  const fragment = new URLSearchParams({
    ...(order === 'newest' ? {} : { order }),
    ...(open === null ? {} : { listing: open.id }),
    ...(open === null || open.registry === null ? {} : { registry: open.registry }),
  })
  return `?${queryString(query)}${fragment.size === 0 ? '' : `#${fragment}`}`
}

export const queryString = (query: readonly Parameter[]): string =>
  new URLSearchParams(query.map(([name, value]) => [name, value])).toString()

export const parameterOf = (query: readonly Parameter[], name: string): string | null =>
  query.find(([other]) => other === name)?.[1] ?? null

/** Keeps the parameter's place; `null` removes it. */
export function withValue(
  query: readonly Parameter[],
  name: string,
  value: string | null,
): readonly Parameter[] {
  if (value === null) return query.filter(([other]) => other !== name)
  if (parameterOf(query, name) === null) return [...query, [name, value]]
  return query.map((parameter) => (parameter[0] === name ? [name, value] : parameter))
}
