import { type FeedEntry, GONE, PUSHED_OUT } from '../../domain/feed-entry.ts'
import type { Copy } from '../../listing-index/copy.ts'
import { comparisonWith } from '../by-price/item-price.ts'
import type { PriceBounds } from '../by-price/price-bounds.ts'
import { describeItem, type MergedItem } from '../merged-item.ts'
import type { MarketSettings } from '../sources.ts'
import type { ChangeFeed } from './change-feed.ts'
import { nameOf } from './change-log.ts'
import { goneError } from './feed-position.ts'
import { type ChangesView, type ShownNow, shownListings, wasShown } from './shown-listings.ts'

export type Change = { key: string; listingId: string; publisher: string | null } & (
  | { kind: 'listing'; merged: MergedItem }
  /** `unchecked`: sources that are not followed; one of them may have the listing. */
  | { kind: 'removed'; unchecked: readonly string[] }
)

type Shown = { now: ShownNow; shownOf: (listingId: string) => ReturnType<typeof shownListings> }

/** Copies of one id are read together, as long as nothing changes. */
export function shownOnce(settings: MarketSettings, now: ShownNow): Shown {
  const byId = new Map<string, ReturnType<typeof shownListings>>()
  return {
    now,
    shownOf: (listingId) => {
      const shown = byId.get(listingId) ?? shownListings(settings, now, listingId)
      byId.set(listingId, shown)
      return shown
    },
  }
}

/** What a source without an answer has of a listing. */
export const UNKNOWN = Symbol('unknown')

/** `null` where the reader need not know. @throws EntrepotError `gone` where what the reader has been shown is not known */
export function changeOf(
  { now, shownOf, ...settings }: MarketSettings & { feed: ChangeFeed } & Shown & { bounds: PriceBounds },
  view: ChangesView,
  entry: FeedEntry,
  since: number,
): Change | typeof UNKNOWN | null {
  const { key, listingId, publisher, source, state } = entry
  const merged = shownOf(listingId).get(key)
  if (merged !== undefined) {
    const { priceLimit, via } = view.query
    const shown = describeItem(merged, { ...settings, via }, priceLimit && comparisonWith(priceLimit))
    return { kind: 'listing', key, listingId, publisher, merged: shown }
  }
  // Whether its source still has it is not known.
  if (state === PUSHED_OUT) return null
  // What a source without an answer had is not removed, unless it was gone before.
  const isGone = state === GONE && view.query.status === 'open'
  if (!isGone && !now.followed.has(source)) return UNKNOWN
  const removed: Change = { kind: 'removed', key, listingId, publisher, unchecked: now.notWhole }
  const earlier = copiesSince(settings.feed, view, entry, since)
  if (earlier !== undefined)
    return earlier.some((copy) => wasShown(settings, now, entry, copy)) ? removed : null
  if (view.reader.filter.criteria.length > 0) throw goneError('is too old to know what has left your view')
  return removed
}

/** What the source had since the position; `undefined` where that, or what other sources had, is not known. */
function copiesSince(
  feed: ChangeFeed,
  { ranked }: ChangesView,
  { source, key }: FeedEntry,
  since: number,
): readonly (Copy | null)[] | undefined {
  const { log, earlier } = feed
  // What others have may have changed since, in the log or in memory alone.
  const hasOthers = ranked.some(
    ({ name }) =>
      name !== source &&
      ((log.latest(name, key)?.position ?? 0) > since || feed.isPending(nameOf({ source: name, key }))),
  )
  return hasOthers ? undefined : earlier.since(nameOf({ source, key }), since)
}
