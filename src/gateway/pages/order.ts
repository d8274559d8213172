import { endOfMs, type Micros } from '../../domain/timestamp.ts'
import type { Copy } from '../../listing-index/copy.ts'
import type { CopyMatches } from '../../listing-index/copy-matches.ts'
import type { Lane } from '../../listing-index/lanes.ts'
import type { Place } from '../../listing-index/segment.ts'
import { matchesOf, nameIn } from '../ask.ts'
import type { Asked, AskRequest } from '../asking.ts'
import type { MarketSettings } from '../market-settings.ts'
import type { NewestPoint, PricePoint, ResumePoint } from './cursor.ts'
import { comparisonIn } from './item-price.ts'
import { type Pricing, shownPrice } from './merged-item.ts'
import { outliersBelow } from './outliers.ts'
import type { PriceBounds } from './price-bounds.ts'
import { type ByPrice, nameGroups, orderOf } from './price-groups.ts'

/** The order of an answer, over all matches as they are in each turn. */
export type Order = Pricing & {
  /** At most `count` behind that point, or else behind the first `skip`. To be read in one turn. */
  take: (from: ResumePoint | null, skip: number, count: number) => readonly Visit[]
}

/** `point`: where the order goes on behind the copy. */
type Visit = { copy: Copy; point: () => ResumePoint }

/** Later dates are of the future, and come last. Clocks of Registries differ. */
const CLOCK_SKEW_MS = 120_000

/** The order that the reader wants. `from`: a point of the same order. */
export async function openOrder(
  settings: MarketSettings,
  asked: Asked,
  matches: CopyMatches,
  { byPrice, reader }: AskRequest,
  from: ResumePoint | null = null,
): Promise<Order> {
  const bounds = await settings.boundsOf(reader, asked)
  if (byPrice !== undefined)
    return orderByPrice(settings, asked, matches, { by: byPrice, from: from as PricePoint | null, bounds })
  const { clock, sources } = settings
  // The order of the own Registry alone is that of the protocol.
  const isOwn = sources.every((source) => source.isOwn)
  const { cap } = (from as NewestPoint | null) ?? {
    cap: isOwn ? undefined : endOfMs(clock.now() + CLOCK_SKEW_MS),
  }
  return newestFirst(asked, matches, { cap, bounds })
}

/** Newest first. Dates behind `cap` (of the future, as of the first page) come last: at a gateway a source could take the first place by them. */
function newestFirst(
  asked: Asked,
  matches: CopyMatches,
  { cap, bounds }: { cap: Micros | undefined; bounds: PriceBounds },
): Order {
  return {
    bounds,
    take: (from, offset, limit) => {
      const after = (from as NewestPoint | null)?.after
      const copies = matches.page({ limit, cap, offset, after })
      return copies.map((copy) => ({ copy, point: () => ({ after: placeOf(asked, copy), cap }) }))
    },
  }
}

const placeOf = (asked: Asked, copy: Copy): Place => {
  return { position: copy.position, key: copy.key, source: nameIn(asked, copy) }
}

/**
 * By price. Outliers come after all others, and behind these copies about which a better source, that is not known whole, might
 * decide.
 */
async function orderByPrice(
  settings: MarketSettings,
  asked: Asked,
  matches: CopyMatches,
  { by, from, bounds }: { by: ByPrice; from: PricePoint | null; bounds: PriceBounds },
): Promise<Order> {
  const [certain, unchecked] = await divide(settings, asked, matches)
  const outliersOf = from === null ? bounds.outliersOf : outliersBelow(from.bounds, settings)
  const marking = () => from?.bounds ?? bounds.marking()
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
  }

  function* visitsBehind(after: PricePoint['after'] | null): Generator<Visit, void> {
    for (const [part, { copies, isOutlier }] of parts.entries()) {
      if (copies === null || (after?.part ?? 0) > part) continue
      if (isOutlier && marking().length === 0) continue
      for (const { copy, group, price } of copies.copiesByPrice(order, after?.part === part ? after : null)) {
        if (isMarked(copy) !== isOutlier) continue
        const point = () => {
          return { groups, bounds: marking(), after: { part, group, price, ...placeOf(asked, copy) } }
        }
        yield { copy, point }
      }
    }
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
