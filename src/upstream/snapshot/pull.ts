import type { Clock } from '../../domain/clock.ts'
import type { Item } from '../../domain/source/item.ts'
import {
  addReporter,
  type MissingSource,
  readMissing,
  readOldestAge,
} from '../../domain/source/missing-source.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import type { UpstreamOptions } from '../../domain/source/upstream.ts'
import { MAX_PAGE_ITEMS } from '../../domain/walk/walk.ts'
import { isJsonObject, parseObject } from '../../json/value.ts'
import { renderEnvelope } from '../../wire/envelope.ts'
import { type Get, rejectKeyEcho } from '../http/request.ts'
import { type FetchPage, queryParameters, readVia } from '../page/fetch-page.ts'
import { conditionsOf, ListingPage, MAX_ITEM_BYTES, type PageItem } from '../page/listing-page.ts'
import type { PublisherDirectory } from '../publisher-directory.ts'
import { rejectionOf, type UpstreamQuery } from '../push-down.ts'
import { type FirstPage, fetchCounts, isWhole } from './first-page.ts'
import { joinPages, type PullBounds } from './joined-pages.ts'
import { Collected, isBeyond } from './snapshot.ts'

/** Listings by key. */
export type Pull = {
  listings: ReadonlyMap<string, Item>
  /** How many the upstream has, where the pull has ended before it had all; absent: `listings` are all. */
  partOf?: number | undefined
  invalid: number
  missing?: readonly MissingSource[] | undefined
  /** Age of its oldest data when they were sent. */
  ageSeconds?: number | undefined
  gatewayId?: string | undefined
}

export type PullOptions = {
  upstream: Pick<UpstreamOptions, 'name' | 'kind' | 'key'>
  get: Get
  publishers: PublisherDirectory
  fetch: FetchPage
  clock: Clock
  /** Of the requests (`CDN-Loop`). */
  via: readonly string[]
  /** What is pulled. */
  query: UpstreamQuery
}

/** Of a stream whose bytes keep arriving: a million listings of 1.5 kB take so long at 20 Mbit/s. */
const MAX_STREAM_MS = 600_000
/** A larger first page is requested again. */
const MAX_KEPT_BYTES = 2 ** 20
/** Of a `_meta`, and of the last line. */
const MAX_META_BYTES = 256 * 1024
/** Unlimited: the bounds of the pull hold. */
const MAX_STREAM_BYTES = 2 ** 40

/**
 * Fetches the first page, and the counts, which a gateway lacks. Where the upstream gave an ETag, an unchanged page is not
 * sent again. Rejects with a SourceError.
 */
export function firstPageFetcher({
  upstream,
  get,
  fetch,
  clock,
  via,
}: Omit<PullOptions, 'query'>): (query: UpstreamQuery) => Promise<FirstPage> {
  let earlier: { query: UpstreamQuery; page: ListingPage } | null = null
  return async (query) => {
    const askedAt = clock.monotonic()
    const sent = queryOf({ query, via })
    const isCounted = upstream.kind === 'registry'
    const [page, counts, all] = await Promise.all([
      fetchFirstPage(fetch, sent, earlier?.query === query ? earlier.page : undefined),
      isCounted && sent.pushed.length === 0 ? fetchCounts(get) : null,
      isCounted && sent.pushed.length > 0 ? fetchTotal(fetch, { ...sent, status: null }) : null,
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

/** Never rejects with a `SourceError`. */
async function fetchTotal(fetch: FetchPage, query: UpstreamQuery): Promise<number | null> {
  try {
    return (await fetch(query, { offset: 0, limit: 1 })).total
  } catch (error) {
    if (error instanceof SourceError) return null
    throw error
  }
}

/** The ages of sources that a gateway misses go on. */
function mayKeep({ about, missing, bytes }: ListingPage): boolean {
  return about.etag !== undefined && missing === undefined && bytes.length <= MAX_KEPT_BYTES
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

/**
 * All listings; or as many as are beyond the bounds, of which `newestOf` are within. `page`: the first one, if it was just read.
 * Rejects as the pages do.
 */
export async function pull(
  options: PullOptions,
  { page }: Pick<FirstPage, 'page'>,
  bounds: PullBounds,
): Promise<Pull> {
  const isStream = options.upstream.kind === 'gateway' && (page === null || !isWhole(page))
  const streamed = isStream ? await pullStream(options, page, bounds) : null
  const pulled = streamed ?? (await pullPages(options, page, bounds))
  return { ...pulled, missing: pulled.missing?.map((entry) => addReporter(entry, pulled.gatewayId)) }
}

function queryOf({ query, via }: Pick<PullOptions, 'query' | 'via'>): UpstreamQuery {
  return { ...query, ...(via.length > 0 && { via }) }
}

async function pullPages(
  options: PullOptions,
  firstPage: ListingPage | null,
  bounds: PullBounds,
): Promise<Pull> {
  const joined = await joinPages({ ...options, query: queryOf(options) }, firstPage, bounds)
  const { missing, ageSeconds, invalid, isEnded, expected } = joined
  const byKey = [...joined.collected.listings]
  const items = byKey.map(([, item]) => item)
  await options.publishers.attributeAll(items, bounds.until)
  const listings = new Map(byKey.map(([key, item]) => [key, item.toItem()]))
  const partOf = isEnded ? undefined : expected
  const { gatewayId } = joined.pages.at(-1)?.about ?? {}
  return { listings, partOf, invalid, missing, ageSeconds, gatewayId }
}

/** `null` for an upstream without NDJSON. */
async function pullStream(
  { upstream, get, ...asked }: PullOptions,
  firstPage: ListingPage | null,
  bounds: PullBounds,
): Promise<Pull | null> {
  const { name, kind, key } = upstream
  const query = queryOf(asked)
  const collected = new Collected<Item>()
  let invalid = 0
  const lines: Buffer[] = []
  const enough = new AbortController()
  const signal = bounds.until ? AbortSignal.any([bounds.until, enough.signal]) : enough.signal
  let received = 0
  try {
    const response = await get(`/listings?${queryParameters(query)}`, {
      maxBytes: MAX_STREAM_BYTES,
      headers: { accept: 'application/x-ndjson', 'accept-encoding': 'gzip' },
      lines: { maxLineBytes: MAX_ITEM_BYTES + MAX_META_BYTES, maxStreamMs: MAX_STREAM_MS, onLine, signal },
    })
    if (!/ndjson/i.test(response.headers['content-type'] ?? '')) return null
    const last = lines.pop()
    readLines()
    const { _meta: meta } = last === undefined ? {} : parseObject(last.toString())
    if (!isJsonObject(meta) || typeof meta.complete !== 'boolean')
      throw new SourceError('bad_envelope', `${name}: the stream ended early`)
    const { missing, gatewayId } = readVia(query, response.headers, kind)
    const ageSeconds = readOldestAge(meta)
    return { ...result(), missing: readMissing(meta, missing) ?? undefined, ageSeconds, gatewayId }
  } catch (error) {
    if (!signal.aborted && !(error instanceof SourceError && bounds.takes?.(error))) throw error
    if (received === 0) take(firstPage?.items ?? [])
    if (collected.size === 0) throw error
  }
  // Its last line would say what the gateway lacks: its first page does, too.
  const { missing, ageSeconds, about } = firstPage ?? {}
  const partOf = Math.max(firstPage?.total ?? 0, received)
  return { ...result(), partOf, missing, ageSeconds, gatewayId: about?.gatewayId }

  function result(): Pick<Pull, 'listings' | 'invalid'> {
    return { listings: collected.listings, invalid: invalid + collected.withoutRoom }
  }

  function onLine(line: Buffer): void {
    rejectKeyEcho(line, key)
    lines.push(line)
    // Only the last line is not a listing.
    if (lines.length > MAX_PAGE_ITEMS) readLines()
    if (isBeyond(bounds, collected))
      enough.abort(new SourceError('too_large', `${name}: has more than is held`))
  }

  function readLines(): void {
    const rows = lines.splice(0, MAX_PAGE_ITEMS)
    if (rows.length === 0) return
    const envelope = renderEnvelope(rows, rows.length)
    const { items } = new ListingPage(envelope, { kind, conditions: conditionsOf(query), offset: 0 })
    invalid += rows.length - items.length
    take(items)
    received += rows.length
  }

  function take(items: readonly PageItem[]): void {
    const matches = items.filter(({ isMatch }) => isMatch)
    const readable = matches.filter(({ isReadable }) => isReadable)
    invalid += matches.length - readable.length
    collected.add(readable.map((item) => item.toItem()))
    bounds.onItems?.(readable)
  }
}
