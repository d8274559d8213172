import { comparesPrices } from '../../../vocabulary/names.ts'
import type { ListingRow } from '../state/listing-row.ts'
import { parameterOf, type Query, type RowOrder, type View, withValues } from '../view.ts'
import { COLUMNS, type GatewayOrder, type ShownTable } from './columns.ts'

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

const orderOf = (by: string): Order['order'] => COLUMNS.find(({ name }) => name === by)?.order ?? null

type Sort = {
  direction: 'ascending' | 'descending' | 'none'
  /** The first click changes the order, the next one its direction. `null` where it cannot be ordered. */
  change: Partial<View> | null
}

export function sortOf(name: string, sorting: Sorting): Sort {
  const { view, isWhole } = sorting
  const order = isWhole ? view.order : null
  const kind = orderOf(name)
  if (kind === null) return { direction: 'none', change: null }
  if (typeof kind === 'object') {
    const isSorted = order?.by === name
    const isDescending = isSorted ? !order.isDescending : kind.isNumber
    return {
      direction: !isSorted ? 'none' : order.isDescending ? 'descending' : 'ascending',
      change: isWhole ? { order: { by: name, isDescending } } : null,
    }
  }
  const isReversed = order?.by === REVERSED.by && order.isDescending
  const query = gatewayOrder(kind, sorting)
  const isSorted = (order === null || isReversed) && gatewayOrderIn(query) === gatewayOrderIn(view.query)
  return {
    direction: !isSorted ? 'none' : (kind === 'newest') === isReversed ? 'ascending' : 'descending',
    change: isSorted && isWhole ? { order: isReversed ? null : REVERSED } : { query, order: null },
  }
}

/** Within one token, unless the reader has chosen another or all. */
function gatewayOrder(order: GatewayOrder, { view: { query }, listingView, priceToken }: Sorting): Query {
  if (order === 'newest') return withValues(query, { sort: comparesPrices(query) ? 'newest' : null })
  const price_token =
    parameterOf(query, 'price_token') ?? (parameterOf(query, 'sort') === 'price' ? null : priceToken)
  const price_per = order === 'price of the whole' && listingView.pricePer === 'gpu' ? 'offer' : null
  return withValues(query, { sort: 'price', price_per, price_token })
}

const gatewayOrderIn = (query: Query): string =>
  `${parameterOf(query, 'sort') ?? 'newest'} ${parameterOf(query, 'price_per') ?? 'gpu'}`

/** The whole of the rows. Those without a value, and by price outliers, are last in both directions. */
export function inOrder(rows: readonly ListingRow[], { view, isWhole }: Sorting): readonly ListingRow[] {
  const { order, query } = view
  if (!isWhole || order === null) return rows
  const kind = orderOf(order.by)
  const key = typeof kind === 'object' ? kind : null
  if (key === null && order.by !== REVERSED.by) return rows
  const isByPrice = parameterOf(query, 'sort') === 'price'
  const places = new Map(
    rows.map((row, n) => [row, isByPrice && (row.compared === null || row.isOutlier) ? null : n]),
  )
  const keyOf = key?.of ?? ((row: ListingRow) => places.get(row) ?? null)
  return rows.toSorted((a, b) => {
    const [one, other] = order.isDescending ? [keyOf(b), keyOf(a)] : [keyOf(a), keyOf(b)]
    if (one === null || other === null) return Number(keyOf(a) === null) - Number(keyOf(b) === null)
    return typeof one === 'string' ? one.localeCompare(String(other), 'en') : one - Number(other)
  })
}
