import type { PriceKey } from '../../domain/price/price-key.ts'
import type { Micros } from '../../domain/timestamp.ts'
import type { Copy } from '../../listing-index/copy.ts'
import type { CopyMatches } from '../../listing-index/copy-matches.ts'
import type { Place } from '../../listing-index/segment.ts'
import { nameIn } from '../asked.ts'
import type { Asked } from '../sources.ts'
import type { NewestPoint, ResumePoint } from './cursor.ts'
import type { Pricing } from './merged-item.ts'
import type { PriceBounds } from './price-bounds.ts'

/** The order of an answer, over all matches as they are in each turn. */
export type Order = Pricing & {
  /** At most `count` behind that point, or else behind the first `skip`. To be read in one turn. */
  take: (from: ResumePoint | null, skip: number, count: number) => readonly Visit[]
  /** Where it goes on behind a copy. */
  pointAfter: (visit: Visit) => ResumePoint
}

/** `byPrice`: where the copy is in an order by price. */
export type Visit = { copy: Copy; byPrice?: { part: number; group: number; price: PriceKey } }

/** Newest first. Dates behind `cap` (of the future, as of the first page) come last: at a gateway a source could take the first place by them. */
export function newestFirst(
  asked: Asked,
  matches: CopyMatches,
  { cap, bounds }: { cap: Micros | undefined; bounds: PriceBounds },
): Order {
  return {
    bounds,
    take: (from, offset, limit) => {
      const after = (from as NewestPoint | null)?.after
      return matches.page({ limit, cap, offset, after }).map((copy) => ({ copy }))
    },
    pointAfter: ({ copy }) => ({ after: placeOf(asked, copy), cap }),
  }
}

export const copyOf = ({ copy }: Visit): Copy => copy

export const placeOf = (asked: Asked, copy: Copy): Place => {
  return { position: copy.position, key: copy.key, source: nameIn(asked, copy) }
}
