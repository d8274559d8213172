import type { ListingRow } from '../state/listing-row.ts'
import { parameterOf, type Query, type RowOrder, type View, withValues } from '../view.ts'
import { COLUMNS, type ShownTable } from './columns.ts'

export type Sorting = ShownTable & {
  view: View
  /** For an order by price where no token is chosen. */
  priceToken: string | null
  /** Whether the page has all that match. Otherwise only the gateway orders: what is shown first has to be first. */
  isWhole: boolean
  /** Whether it can have all. */
  canLoadAll: boolean
}

/** The gateway's order from its end. */
const REVERSED: RowOrder = { by: 'served', isDescending: true }

export type Order = (typeof COLUMNS)[number]

/** In the order of the columns. */
export const ordersOf = (sorting: Sorting): Order[] => COLUMNS.filter(({ isShown }) => isShown(sorting))

/** `null` where only the gateway orders. */
const keyOfOrder = (by: string): Order['key'] => COLUMNS.find(({ name }) => name === by)?.key ?? null

type Sort = {
  direction: 'ascending' | 'descending' | 'none'
  /** The first click changes the order, the next one its direction. `null` where it cannot be ordered. */
  change: Partial<View> | null
}

export function sortOf(name: string, sorting: Sorting): Sort {
  const { view, isWhole } = sorting
  const order = isWhole ? view.order : null
  const key = keyOfOrder(name)
  if (key !== null) {
    const isSorted = order?.by === name
    const isDescending = isSorted ? !order.isDescending : key.isNumber
    return {
      direction: !isSorted ? 'none' : order.isDescending ? 'descending' : 'ascending',
      change: isWhole ? { order: { by: name, isDescending } } : null,
    }
  }
  const isReversed = order?.by === REVERSED.by && order.isDescending
  const query = gatewayOrder(name, sorting)
  const isSorted = (order === null || isReversed) && gatewayOrderIn(query) === gatewayOrderIn(view.query)
  return {
    direction: !isSorted ? 'none' : (name === 'listed') === isReversed ? 'ascending' : 'descending',
    change: isSorted && isWhole ? { order: isReversed ? null : REVERSED } : { query, order: null },
  }
}

/** Within one token, unless the reader has chosen another or all. */
function gatewayOrder(name: string, { view: { query }, listingView, priceToken }: Sorting): Query {
  if (name === 'listed') return withValues(query, { sort: null })
  const price_token = parameterOf(query, 'price_token') ?? (parameterOf(query, 'sort') ? null : priceToken)
  const price_per = name === 'whole' && listingView.pricePer === 'gpu' ? 'offer' : null
  return withValues(query, { sort: 'price', price_per, price_token })
}

const gatewayOrderIn = (query: Query): string =>
  `${parameterOf(query, 'sort') ?? 'newest'} ${parameterOf(query, 'price_per') ?? 'gpu'}`

/** The whole of the rows. Those without a value are last in both directions. */
export function inOrder(rows: readonly ListingRow[], { view, isWhole }: Sorting): readonly ListingRow[] {
  const { order, query } = view
  if (!isWhole || order === null) return rows
  const key = keyOfOrder(order.by)
  if (key === null && order.by !== REVERSED.by) return rows
  const isByPrice = parameterOf(query, 'sort') === 'price'
  const places = new Map(rows.map((row, n) => [row, isByPrice && row.compared === null ? null : n]))
  const keyOf = key?.of ?? ((row: ListingRow) => places.get(row) ?? null)
  return rows.toSorted((a, b) => {
    const [one, other] = order.isDescending ? [keyOf(b), keyOf(a)] : [keyOf(a), keyOf(b)]
    if (one === null || other === null) return Number(keyOf(a) === null) - Number(keyOf(b) === null)
    return typeof one === 'string' ? one.localeCompare(String(other), 'en') : one - Number(other)
  })
}
