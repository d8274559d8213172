import { type Clock, raceAbort } from '../domain/clock.ts'
import type { Item } from '../domain/source/item.ts'
import type { SourceReason } from '../domain/source/reasons.ts'
import { SourceError } from '../domain/source/source-error.ts'
import type { UpstreamOptions } from '../domain/source/upstream.ts'
import type { Get } from './http/request.ts'
import type { FetchPage } from './page/fetch-page.ts'
import type { ListingPage, PageItem } from './page/listing-page.ts'
import type { PublisherDirectory } from './publisher-directory.ts'
import type { UpstreamQuery } from './push-down.ts'
import { WRONG } from './snapshot/held-listings.ts'
import { type Pull, pull } from './snapshot/pull.ts'
import { snapshotKey } from './snapshot/snapshot.ts'

export type BoundedPullOptions = {
  upstream: Pick<UpstreamOptions, 'name' | 'key'>
  fetch: FetchPage
  get: Get
  publishers: PublisherDirectory
  clock: Clock
}

type Asked = { query: UpstreamQuery; page: Promise<ListingPage | null>; maxListings: number }

/** `reason`: of a pull that has not all. `isSorted`: the listings came newest first. */
export type BoundedPull = Pull & { reason: SourceReason | undefined; isSorted: boolean }

/**
 * At most `maxListings` of an upstream, the newest where it is sorted, or what came before `until`, or before an outage.
 * @throws SourceError where nothing came, or something wrong
 */
export async function pullWithin(
  { upstream, fetch, get, publishers, clock }: BoundedPullOptions,
  { query, page: firstPage, maxListings }: Asked,
  until: AbortSignal,
): Promise<BoundedPull> {
  const page = await raceAbort(firstPage, until)
  const ofFirst = page?.items.filter(({ isMatch, isReadable }) => isMatch && isReadable) ?? []
  // The user named it, so a gateway's `_meta` is trusted; a plain Registry has none.
  const isStream = page?.isGateway === true && page.items.length < maxListings
  const about = { ...upstream, kind: isStream ? 'gateway' : 'registry' } as const
  const options = { upstream: about, get, publishers, fetch, clock, via: [], query }
  const arrived: PageItem[] = []
  const onItems = (items: readonly PageItem[]) => void arrived.push(...items)
  try {
    const pulled = await pull(options, { page }, { maxListings, until, onItems })
    const cut = until.aborted ? 'timeout' : 'too_large'
    return { ...pulled, reason: pulled.partOf === undefined ? undefined : cut, isSorted: areSorted(arrived) }
  } catch (error) {
    const items = arrived.length === 0 ? ofFirst : arrived
    if (!(error instanceof SourceError) || items.length === 0 || WRONG.includes(error.reason)) throw error
    await publishers.attribute(items)
    const listings = new Map<string, Item>(items.map((item) => [snapshotKey(item), item.toItem()]))
    const partOf = Math.max(page?.total ?? 0, listings.size)
    const { missing, ageSeconds } = page ?? {}
    return {
      ...{ listings, partOf, invalid: 0, missing, ageSeconds },
      ...{ reason: error.reason, isSorted: areSorted(items) },
    }
  }
}

const areSorted = (items: readonly Item[]): boolean =>
  items.every(({ position }, n) => n === 0 || position <= items[n - 1]!.position)
