import type { ListingStatus } from '../../domain/listing.ts'
import { parsePriceQuestion } from '../../domain/price/price-parameters.ts'
import { TokenTable } from '../../domain/price/token.ts'
import type { Market } from '../market.ts'
import type { MarketQuery, MarketRequest } from '../market-query.ts'

/** Characters. */
export const MIN_BEGINNING = 8
/** The newest of all sources. */
const MAX_SEARCHED = 2000

/** Listings of every status, newest first. */
export const EVERYTHING: MarketQuery = {
  status: null,
  publisher: null,
  filters: [],
  prices: parsePriceQuestion(new TokenTable([]), {}),
  sources: null,
}

/** Different ids that begin with `beginning`, of the newest listings; none for fewer than 8 characters. */
export async function idsBeginning(
  market: Pick<Market, 'page'>,
  beginning: string,
  request: MarketRequest,
  status: ListingStatus | null = null,
): Promise<readonly string[]> {
  if (beginning.length < MIN_BEGINNING) return []
  const { items } = await market.page({ ...EVERYTHING, status, limit: MAX_SEARCHED, offset: 0 }, request)
  const ids = items.map(({ item }) => item.listingId)
  return [...new Set(ids.filter((id) => id.startsWith(beginning)))]
}
