import { writeSet } from '../../filter-spec/literals.ts'
import { setFormOf } from '../../filter-spec/operations/operations.ts'
import { comparesPrices, isDerivedName } from '../../vocabulary/names.ts'
import { readItems } from './filters/controls.ts'

/** The address holds all of it, so that a view can be shared. */
export type View = {
  /** Decoded parameters of `GET /listings`, without paging. */
  query: Query
  /** From 1. */
  page: number
  /** Of the loaded rows, where they are all that match; `null`: the query's. */
  order: RowOrder | null
  open: OpenListing | null
  /** In the open comparison. */
  compared: readonly OpenListing[]
}

export type Query = readonly QueryParameter[]
export type QueryParameter = readonly [name: string, value: string]
export type RowOrder = { by: string; isDescending: boolean }
export type OpenListing = { id: string; registry: string | null }

export const MAX_COMPARED = 4

/** The board pages by itself. */
const PAGING_PARAMETERS = new Set(['limit', 'offset', 'cursor'])

/** The search is the gateway's query, the fragment the board's own. */
export function readView({ search, hash }: Pick<URL, 'search' | 'hash'>): View {
  const fragment = new URLSearchParams(hash.slice(1))
  const id = fragment.get('listing')
  const page = Number(fragment.get('page'))
  const order = fragment.get('order')
  return {
    query: withUsualOrder(
      joinRepeats([...new URLSearchParams(search)]).filter(([name, value]) => belongsToView(name, value)),
    ),
    page: Number.isSafeInteger(page) && page > 0 ? page : 1,
    order: order ? { by: order.replace(/^-/, ''), isDescending: order.startsWith('-') } : null,
    open: id === null || id === '' ? null : { id, registry: fragment.get('registry') },
    compared: fragment.getAll('compare').slice(0, MAX_COMPARED).map(readCompared),
  }
}

/** Cheapest first where prices are compared, unless the address names an order. */
export const withUsualOrder = (query: Query): Query =>
  parameterOf(query, 'sort') === null && comparesPrices(query) ? [...query, ['sort', 'price']] : query

/** Repeats of a derived filter that are a set are one; the gateway refuses others. Of other parameters the last one counts. */
const joinRepeats = (pairs: Query): Query =>
  [...Map.groupBy(pairs, ([name]) => name)].flatMap(([name, repeats]): Query => {
    if (!isDerivedName(name)) return [repeats.at(-1)!]
    const filled = repeats.filter(([, value]) => value !== '')
    const [form, ...others] = new Set(filled.map(([, value]) => setFormOf(value) ?? 'in'))
    const isSet = others.length === 0 && (form === 'in' || form === 'not_in') && !name.endsWith('_min')
    if (filled.length < 2 || !isSet) return filled
    return [
      [
        name,
        writeSet(
          form,
          filled.flatMap(([, value]) => readItems(form, value) ?? [value]),
        ),
      ],
    ]
  })

/** An empty filter is not applied; an empty status means all. */
const belongsToView = (name: string, value: string): boolean =>
  !PAGING_PARAMETERS.has(name) && (value !== '' || name === 'status')

/** `east:1`, and `:1` at a plain Registry. */
function readCompared(text: string): OpenListing {
  const [registry = ''] = text.split(':', 1)
  return { id: text.slice(registry.length + 1), registry: registry || null }
}

/** Relative to the page's folder: an empty URL would keep the old search. */
export function writeView({ query, page, order, open, compared }: View): string {
  const fragment = new URLSearchParams([
    ...(page === 1 ? [] : [['page', String(page)]]),
    ...(order === null ? [] : [['order', `${order.isDescending ? '-' : ''}${order.by}`]]),
    ...(open === null ? [] : [['listing', open.id]]),
    ...(open === null || open.registry === null ? [] : [['registry', open.registry]]),
    ...compared.map(({ id, registry }) => ['compare', `${registry ?? ''}:${id}`]),
  ])
  return `${query.length === 0 ? './' : `?${queryString(query)}`}${fragment.size === 0 ? '' : `#${fragment}`}`
}

export const queryString = (query: Query): string =>
  new URLSearchParams(query.map(([...pair]) => pair)).toString()

/** The part of the query that decides which listings match, without their order. */
export function matchString(query: Query): string {
  const hasCeiling = parameterOf(query, 'price_max') !== null
  const isOrder = (name: string): boolean => name === 'sort' || (!hasCeiling && ORDER_PARAMETERS.has(name))
  return queryString(query.filter(([name]) => !isOrder(name)))
}

/** Of an order, or of a ceiling. */
const ORDER_PARAMETERS: ReadonlySet<string> = new Set(['price_token', 'price_per', 'testnet'])

export const parameterOf = (query: Query, name: string): string | null =>
  query.find(([other]) => other === name)?.[1] ?? null

/** `null` removes the parameter. A filter's `strict.` parameter goes with it. */
export function withValue(query: Query, name: string, value: string | null): Query {
  if (value === null)
    return withPriceRules(query.filter(([other]) => other !== name && other !== `strict.${name}`))
  if (parameterOf(query, name) === null) return [...query, [name, value]]
  return query.map((parameter) => (parameter[0] === name ? [name, value] : parameter))
}

export const withValues = (query: Query, values: Readonly<Record<string, string | null>>): Query =>
  withPriceRules(
    Object.entries(values).reduce<Query>((all, [name, value]) => withValue(all, name, value), query),
  )

/** The gateway refuses parameters of a price where nothing is ordered or limited by it. */
const withPriceRules = (query: Query): Query =>
  parameterOf(query, 'sort') === 'price' || parameterOf(query, 'price_max') !== null
    ? query
    : query.filter(([name]) => name !== 'price_token' && name !== 'price_per')

const NOT_FILTERS = new Set(['sort', 'price_token', 'price_per', 'require', 'timeout_ms'])

/** What narrows the answer; a filter's `strict.` parameter belongs to it. */
export const filtersOf = (query: Query): Query =>
  query.filter(([name]) => !NOT_FILTERS.has(name) && !name.startsWith('strict.'))
