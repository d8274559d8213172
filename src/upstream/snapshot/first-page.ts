import type { Clock } from '../../domain/clock.ts'
import type { Counts, Totals } from '../../domain/source/saved-snapshot.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import type { UpstreamKind } from '../../domain/source/upstream.ts'
import { MAX_PAGE_ITEMS } from '../../domain/walk/walk.ts'
import { isJsonObject, parseObject } from '../../json/value.ts'
import type { Get } from '../http/request.ts'
import type { FetchPage } from '../page/fetch-page.ts'
import { canBeHeld, type ListingPage, type PageItem } from '../page/listing-page.ts'
import { rejectionOf, type UpstreamQuery } from '../push-down.ts'
import { isSameRow, type Snapshot, snapshotKey } from './snapshot.ts'

export type FirstPage = {
  query: UpstreamQuery
  /** When it was requested, in ms since the Unix epoch. */
  askedAt: number
  /** `null` where it has to be divided to be read. */
  page: ListingPage | null
  counts: Counts
}

const MAX_STATS_BYTES = 64 * 1024
/** A larger first page is requested again. */
const MAX_KEPT_BYTES = 2 ** 20

/**
 * Fetches the first page, and the counts, which a gateway lacks. Where the upstream gave an ETag, an unchanged page is not
 * sent again. Rejects with a SourceError.
 */
export function firstPageFetcher(
  kind: UpstreamKind,
  { get, fetch, clock }: { get: Get; fetch: FetchPage; clock: Clock },
): (query: UpstreamQuery) => Promise<FirstPage> {
  let earlier: { query: UpstreamQuery; page: ListingPage } | null = null
  return async (query) => {
    const askedAt = clock.monotonic()
    const isCounted = kind === 'registry'
    const isNarrowed = query.pushed.length > 0
    const [page, counts, all] = await Promise.all([
      fetchFirstPage(fetch, query, earlier?.query === query ? earlier.page : undefined),
      isCounted && !isNarrowed ? fetchCounts(get) : null,
      isCounted && isNarrowed ? fetchTotal(fetch, { ...query, status: null }) : null,
    ])
    earlier = page !== null && mayKeep(page) ? { query, page } : null
    const isSum = page !== null && all !== null
    return {
      query,
      askedAt,
      page,
      counts: isSum ? { open: page.total, others: all - page.total } : counts,
    }
  }
}

/** `null` for a page that has to be divided to be read: a single listing may be the cause. @throws SourceError */
export async function fetchFirstPage(
  fetch: FetchPage,
  query: UpstreamQuery,
  earlier?: ListingPage,
): Promise<ListingPage | null> {
  try {
    return await fetch(query, { offset: 0, limit: MAX_PAGE_ITEMS }, earlier)
  } catch (error) {
    const isDivided = error instanceof SourceError && error.traits.splitsPage === 'any'
    if (isDivided && rejectionOf(query, error) === null) return null
    throw error
  }
}

/** The ages of sources that a gateway misses go on. */
function mayKeep({ about, missing, bytes }: ListingPage): boolean {
  return about.etag !== undefined && missing === undefined && bytes.length <= MAX_KEPT_BYTES
}

/** A Registry may lack the route. */
function fetchCounts(get: Get): Promise<Counts> {
  return orNull(async () => {
    const { body } = await get('/api/v1/system/stats', { maxBytes: MAX_STATS_BYTES })
    const { order_count: all, orders_by_status: byStatus } = parseObject(body.toString())
    const open = isJsonObject(byStatus) ? byStatus.open : null
    return typeof open === 'number' && typeof all === 'number' ? { open, others: all - open } : null
  })
}

function fetchTotal(fetch: FetchPage, query: UpstreamQuery): Promise<number | null> {
  return orNull(async () => (await fetch(query, { offset: 0, limit: 1 })).total)
}

/** Never rejects with a `SourceError`. */
async function orNull<T>(ask: () => Promise<T>): Promise<T | null> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof SourceError) return null
    throw error
  }
}

/** Whether the upstream has no further listings. */
export function isWhole({ isGateway, hasMore, received, total }: ListingPage): boolean {
  return isGateway ? !hasMore : received >= total && received < MAX_PAGE_ITEMS
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
  const items = page.items.filter((item) => canBeHeld(item) && snapshot.hasRoom(item))
  // Publishers are left out: the directory may not know them yet.
  const changed = items.filter((item) => !isSameRow(item, snapshot.get(snapshotKey(item))))
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

/** Whether a listing of the snapshot, newer than the last of the page, is not on the page. */
function lacksNewer(items: readonly PageItem[], snapshot: Snapshot): boolean {
  const positions = items.map(({ position }) => position)
  const isSorted = positions.every((position, n) => n === 0 || position <= positions[n - 1]!)
  const last = positions.at(-1)
  if (!isSorted || last === undefined) return false
  const keys = new Set(items.map(snapshotKey))
  return snapshot.newest(items.length + 1).some(({ position, key }) => position > last && !keys.has(key))
}
