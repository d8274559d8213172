import type { Copy } from '../../listing-index/copy.ts'
import type { CopyMatches } from '../../listing-index/copy-matches.ts'
import type { Lane } from '../../listing-index/lanes.ts'
import { matchesOf, nameIn } from '../asked.ts'
import type { MarketSettings } from '../market-settings.ts'
import type { Asked } from '../sources.ts'
import type { PricePoint } from './cursor.ts'
import { comparisonIn } from './item-price.ts'
import { shownPrice } from './merged-item.ts'
import { type Order, placeOf, type Visit } from './order.ts'
import { outliersBelow } from './outliers.ts'
import type { PriceBounds } from './price-bounds.ts'
import { type ByPrice, nameGroups, orderOf } from './price-groups.ts'

/**
 * By price. Outliers come after all others, and behind these copies about which a better source, that is not known whole, might
 * decide.
 */
export async function orderByPrice(
  settings: MarketSettings,
  asked: Asked,
  matches: CopyMatches,
  { by, from, bounds }: { by: ByPrice; from: PricePoint | null; bounds: PriceBounds },
): Promise<Order> {
  const [certain, unchecked] = await divide(settings, asked, matches)
  const outliersOf = from === null ? bounds.outliersOf : outliersBelow(from.bounds, settings)
  const groups = from?.groups ?? nameGroups(matches.offers(by.tokens), by)
  const order = orderOf(groups, by, settings.tokens)
  const comparison = comparisonIn(order)
  const parts = [
    { copies: certain, isOutlier: false },
    { copies: certain, isOutlier: true },
    { copies: unchecked, isOutlier: false },
    { copies: unchecked, isOutlier: true },
  ]
  return {
    comparison,
    bounds,
    take: (point, skip, count) => {
      const visits = visitsBehind((point as PricePoint | null)?.after ?? null)
      return [...visits.drop(point === null ? skip : 0).take(count)]
    },
    pointAfter: ({ copy, byPrice }) => ({
      groups,
      bounds: from?.bounds ?? bounds.marking(),
      after: { ...byPrice!, ...placeOf(asked, copy) },
    }),
  }

  function* visitsBehind(after: PricePoint['after'] | null): Generator<Visit, void> {
    for (const [part, { copies, isOutlier }] of parts.entries()) {
      if (copies === null || (after?.part ?? 0) > part) continue
      if (isOutlier && (from?.bounds ?? bounds.marking()).length === 0) continue
      yield* inPart(copies.copiesByPrice(order, after?.part === part ? after : null), part, isOutlier)
    }
  }

  function* inPart(
    found: ReturnType<CopyMatches['copiesByPrice']>,
    part: number,
    isOutlier: boolean,
  ): Generator<Visit, void> {
    for (const { copy, group, price } of found)
      if (isMarked(copy) === isOutlier) yield { copy, byPrice: { part, group, price } }
  }

  /** By the price that is shown. */
  function isMarked(copy: Copy): boolean {
    const name = nameIn(asked, copy)
    if (outliersOf(copy, name).length === 0) return false
    return shownPrice(settings, copy, name, { comparison, outliersOf })?.outlier === true
  }
}

/** The matches of which no better source may have the listing, and the others; `null` for none. */
async function divide(
  settings: MarketSettings,
  asked: Asked,
  matches: CopyMatches,
): Promise<readonly [CopyMatches, CopyMatches | null]> {
  const { answers, unknown, scope } = asked
  const [first] = unknown
  if (first === undefined && !answers.some(({ source }) => source.isGateway)) return [matches, null]
  const isUnchecked = ({ source, isUnchecked }: Lane): boolean =>
    isUnchecked || (first !== undefined && first.rank < scope.ranking.rankOf(source)!)
  return [
    await matchesOf(settings, asked, (lane) => !isUnchecked(lane)),
    await matchesOf(settings, asked, isUnchecked),
  ]
}
