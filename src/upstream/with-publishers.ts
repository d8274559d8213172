import { untilAborted, withDeadline } from '../domain/deadline.ts'
import type { FetchListings } from './fetch-listings.ts'
import type { ListingPage } from './listing-page.ts'
import type { PublisherBook } from './publisher-book.ts'
import type { UpstreamItem } from './upstream-item.ts'

/** How long a page waits for publishers that are not known yet. */
export const PUBLISHERS_WAIT_MS = 500

/**
 * Puts the publishers' addresses to the listings of a Registry. A page waits for those that are searched, but not
 * longer than its caller does: then it goes without.
 */
export const withPublishers =
  (book: PublisherBook, fetch: FetchListings): FetchListings =>
  async (query, offset, signal) => {
    const page = await fetch(query, offset, signal)
    const search = book.learn(new Set(page.items.flatMap((item) => publisherIdOf(item) ?? [])))
    const isOver = search === null || (await endsInTime(search, signal))
    const items = page.items.map((item) => withAddress(item, book))
    return isOver ? { ...page, items } : notCurrent({ ...page, items })
  }

const publisherIdOf = ({ publisherId }: UpstreamItem): number | null =>
  typeof publisherId === 'number' ? publisherId : null

const withAddress = (item: UpstreamItem, book: PublisherBook): UpstreamItem => {
  const id = publisherIdOf(item)
  const publisher = id === null ? null : book.addressOf(id)
  return publisher === null ? item : { ...item, item: { ...item.item, publisher } }
}

/** Whether `work` ended before the caller's patience, or ours, did. */
const endsInTime = async (work: Promise<void>, caller: AbortSignal): Promise<boolean> => {
  const late = new Error('late')
  try {
    await withDeadline({ ms: PUBLISHERS_WAIT_MS, late, caller }, (signal) => untilAborted(work, signal))
    return true
  } catch {
    // Late, or the caller's time is over: either way she gets the listings that are there.
    return false
  }
}

/** With its publishers it will be another page: this one is not to be given again. */
const notCurrent = (page: ListingPage): ListingPage =>
  page.freshness === undefined ? page : { ...page, freshness: { ...page.freshness, isCurrent: () => false } }
