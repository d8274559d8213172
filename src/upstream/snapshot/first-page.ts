import type { Counts, Totals } from '../../domain/source/saved-snapshot.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import { MAX_PAGE_ITEMS } from '../../domain/walk/walk.ts'
import { isJsonObject, parseObject } from '../../json/value.ts'
import type { Get } from '../http/request.ts'
import type { ListingPage, PageItem } from '../page/listing-page.ts'
import type { UpstreamQuery } from '../push-down.ts'
import { type Snapshot, snapshotKey } from './snapshot.ts'

export type FirstPage = {
  /** What was asked, but for the gateways that it passes. */
  query: UpstreamQuery
  /** When it was requested, in ms since the Unix epoch. */
  askedAt: number
  /** `null` where it has to be divided to be read. */
  page: ListingPage | null
  counts: Counts
}

const MAX_STATS_BYTES = 64 * 1024

/** Never rejects with a `SourceError`: a Registry may lack the route. */
export async function fetchCounts(get: Get): Promise<Counts> {
  try {
    const { body } = await get('/api/v1/system/stats', { maxBytes: MAX_STATS_BYTES })
    const { order_count: all, orders_by_status: byStatus } = parseObject(body.toString())
    const open = isJsonObject(byStatus) ? byStatus.open : null
    return typeof open === 'number' && typeof all === 'number' ? { open, others: all - open } : null
  } catch (error) {
    if (error instanceof SourceError) return null
    throw error
  }
}

/** Whether the upstream has no further listings. */
export function isWhole({ isGateway, nextCursor, received, total }: ListingPage): boolean {
  return isGateway ? nextCursor === undefined : received >= total && received < MAX_PAGE_ITEMS
}

/** What a first page shows to compare the next one with. */
export function totalsOf({ page, counts }: Pick<FirstPage, 'page' | 'counts'>, known: number): Totals {
  const newest = page?.items.reduce((latest, { position }) => Math.max(latest, position), 0)
  return { total: page?.total ?? known, counts, newest }
}

/**
 * Listings of the first page that the snapshot lacks or has otherwise. `isExplained`: the new ones are all that has changed,
 * as far as first page and counts show.
 */
export function compareFirstPage(
  snapshot: Snapshot,
  before: Totals,
  { page, counts }: Pick<FirstPage, 'page' | 'counts'>,
): { changed: readonly PageItem[]; isExplained: boolean } {
  if (page === null) return { changed: [], isExplained: false }
  const items = page.items.filter((item) => item.isMatch && item.isReadable && snapshot.hasRoom(item))
  const changed = items.filter((item) => !isUnchanged(item, snapshot))
  const added = items.filter((item) => snapshot.get(snapshotKey(item)) === undefined)
  // What is not held since it does not match: the upstream counts it.
  const { newest = Number.POSITIVE_INFINITY } = before
  const others = page.items.filter(({ isMatch, position }) => !isMatch && position > newest)
  const more = added.length + others.length
  const isExplained =
    changed.length === added.length &&
    page.total === before.total + more &&
    isSum(before.counts, counts, more) &&
    !lacksNewer(items, snapshot)
  return { changed, isExplained }
}

function isSum(before: Counts, counts: Counts, added: number): boolean {
  if (before === null || counts === null) return true
  return counts.open === before.open + added && counts.others === before.others
}

/** Publishers are left out: the directory may not know them yet. */
function isUnchanged(item: PageItem, snapshot: Snapshot): boolean {
  const held = snapshot.get(snapshotKey(item))
  return (
    held !== undefined &&
    held.position === item.position &&
    Buffer.compare(held.bytes, item.bytes) === 0 &&
    JSON.stringify(held.origin) === JSON.stringify(item.origin)
  )
}

/** Whether a listing of the snapshot, newer than the last of the page, is not on the page. */
function lacksNewer(items: readonly PageItem[], snapshot: Snapshot): boolean {
  const positions = items.map(({ position }) => position)
  const isSorted = positions.every((position, n) => n === 0 || position <= positions[n - 1]!)
  const last = positions.at(-1)
  if (!isSorted || last === undefined) return false
  const keys = new Set(items.map(snapshotKey))
  return snapshot.newest(items.length + 1).some(({ position, key }) => position > last && !keys.has(key))
}
