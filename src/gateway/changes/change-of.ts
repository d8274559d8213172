import { type FeedEntry, GONE, PUSHED_OUT } from '../../domain/feed-entry.ts'
import { remembered } from '../../domain/remembered.ts'
import type { Copy } from '../../listing-index/copy.ts'
import type { MarketSettings } from '../market-settings.ts'
import { describeItem, type MergedItem } from '../pages/merged-item.ts'
import type { PriceBounds } from '../pages/price-bounds.ts'
import { goneError } from './feed-position.ts'
import { nameOf } from './log-in-memory.ts'
import { type ChangesView, type ShownNow, shownListings, wasShown } from './shown-listings.ts'
import type { StoredLog } from './stored-log.ts'

export type Change = { key: string; listingId: string; publisher: string | null } & (
  | { kind: 'listing'; merged: MergedItem }
  /** `unchecked`: sources that are not followed; one of them may have the listing. */
  | { kind: 'removed'; unchecked: readonly string[] }
)

/** `shown`: what is shown of each id, which is found once as long as nothing changes. */
type Shown = { now: ShownNow; shown: Map<string, ReturnType<typeof shownListings>> }

/** What a source without an answer has of a listing. */
export const UNKNOWN = Symbol('unknown')

/** `null` where the reader need not know. @throws EntrepotError `gone` where what the reader has been shown is not known */
export function changeOf(
  { now, shown, ...settings }: MarketSettings & { stored: StoredLog; bounds: PriceBounds } & Shown,
  view: ChangesView,
  entry: FeedEntry,
  since: number,
): Change | typeof UNKNOWN | null {
  const { key, listingId, publisher, source, state } = entry
  const merged = remembered(shown, listingId, () => shownListings(settings, now, listingId)).get(key)
  if (merged !== undefined) {
    const described = describeItem(merged, settings, settings.bounds, view.query)
    return { kind: 'listing', key, listingId, publisher, merged: described }
  }
  // Whether its source still has it is not known until that is held whole.
  if (state === PUSHED_OUT) return null
  // What a source without an answer had is not removed, unless it was gone before.
  const isGone = state === GONE && view.query.status === 'open'
  if (!isGone && !now.followed.has(source)) return UNKNOWN
  // What the entry's own source has is known.
  const unchecked = now.unknown.flatMap(({ name }) => (name === source ? [] : name))
  const removed: Change = { kind: 'removed', key, listingId, publisher, unchecked }
  const earlier = copiesSince(settings.stored, view, entry, since)
  if (earlier !== undefined)
    return earlier.some((copy) => wasShown(settings, now, entry, copy)) ? removed : null
  if (view.request.reader.filter.criteria.length > 0)
    throw goneError('is too old to know what has left your view')
  return removed
}

/** What the source had since the position; `undefined` where that, or what other sources had, is not known. */
function copiesSince(
  feed: StoredLog,
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
