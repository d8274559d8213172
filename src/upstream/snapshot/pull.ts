import type { Clock } from '../../domain/clock.ts'
import type { Item } from '../../domain/source/item.ts'
import {
  addReporter,
  type MissingSource,
  readMissing,
  readOldestAge,
} from '../../domain/source/missing-source.ts'
import { comparePositions } from '../../domain/source/position.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import type { UpstreamOptions } from '../../domain/source/upstream.ts'
import { MAX_PAGE_ITEMS } from '../../domain/walk/walk.ts'
import { isJsonObject, parseObject } from '../../json/value.ts'
import { renderEnvelope } from '../../wire/envelope.ts'
import { type Get, rejectKeyEcho } from '../http/request.ts'
import { type FetchPage, queryParameters, readVia } from '../page/fetch-page.ts'
import { conditionsOf, ListingPage, MAX_ITEM_BYTES, type PageItem } from '../page/listing-page.ts'
import type { Attributable, PublisherDirectory } from '../publisher-directory.ts'
import { rejectionOf, type UpstreamQuery } from '../push-down.ts'
import { type FirstPage, fetchCounts, isWhole } from './first-page.ts'
import { joinPages, type PullBounds } from './joined-pages.ts'
import { MAX_COPIES, sizeOf, snapshotKey } from './snapshot.ts'

export type FoundPublisher = Pick<Item, 'publisher' | 'aliases'>

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
  /** By key, of listings whose publisher is found after the pull. Never rejects. */
  publishersLater?: Promise<ReadonlyMap<string, FoundPublisher>> | undefined
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
 * The newest listings within the bounds, page by page; of an upstream that is not sorted, those that came first. `page`: the first
 * one, if it was just read. Rejects as the pages do.
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
  const { upstream, publishers } = options
  const joined = await joinPages({ ...options, query: queryOf(options) }, firstPage, bounds)
  // A gateway may repeat a listing, and the last one counts.
  const read = upstream.kind === 'gateway' ? joined.pages.flatMap((page) => page.items) : joined.items
  const items = read.filter(({ isMatch }) => isMatch)
  if (upstream.kind === 'registry') items.sort(comparePositions)
  const hasEnded = await publishers.attributeAll(items, bounds.until)
  const collected = new Collected(bounds)
  collected.add(items)
  const { listings } = collected
  const isWhole = joined.isEnded && !collected.isFull
  const partOf = isWhole ? undefined : Math.max(joined.expected, listings.size)
  const invalid = joined.invalid + collected.invalid
  const publishersLater = hasEnded ? undefined : attributeLater(items, publishers)
  const { gatewayId } = joined.pages.at(-1)?.about ?? {}
  const { missing, ageSeconds } = joined
  return { listings, partOf, invalid, missing, ageSeconds, gatewayId, publishersLater }
}

/** Keeps ids only, which releases the pages. */
function attributeLater(
  items: readonly PageItem[],
  publishers: PublisherDirectory,
): Promise<ReadonlyMap<string, FoundPublisher>> {
  const unknown: (Attributable & { key: string })[] = items
    .filter(({ publisher }) => publisher === null)
    .map((item) => {
      const { publisherId, principals } = item
      return { key: snapshotKey(item), publisherId, principals, publisher: null, aliases: undefined }
    })
  return (publishers.search ?? Promise.resolve()).then(() => {
    publishers.setKnown(unknown)
    const found = unknown.filter(({ publisher }) => publisher !== null)
    return new Map(found.map(({ key, publisher, aliases }) => [key, { publisher, aliases }]))
  })
}

/** Listings within the bounds of a pull. */
class Collected {
  readonly listings = new Map<string, Item>()
  /** Too long, nested too deep, or one of too many of its id. */
  invalid = 0
  /** Whether one did not fit, after which none is added. */
  isFull = false
  readonly #maxListings: number
  readonly #maxBytes: number
  /** Listings of each id. */
  readonly #copies = new Map<string, number>()
  #bytes = 0

  constructor({ maxListings = Infinity, maxBytes = Infinity }: PullBounds) {
    this.#maxListings = maxListings
    this.#maxBytes = maxBytes
  }

  add(items: Iterable<PageItem>): void {
    for (const item of items) if (!this.isFull) this.#add(item)
  }

  #add(item: PageItem): void {
    const key = snapshotKey(item)
    const before = this.listings.get(key)
    const copies = this.#copies.get(item.listingId) ?? 0
    if (!item.isReadable || (copies >= MAX_COPIES && before === undefined)) {
      this.invalid++
      return
    }
    const one = item.toItem()
    const bytes = this.#bytes + sizeOf(one) - (before === undefined ? 0 : sizeOf(before))
    this.isFull = bytes > this.#maxBytes || (before === undefined && this.listings.size >= this.#maxListings)
    if (this.isFull) return
    this.#bytes = bytes
    if (before === undefined) this.#copies.set(item.listingId, copies + 1)
    this.listings.set(key, one)
  }
}

/** `null` for an upstream without NDJSON. */
async function pullStream(
  { upstream, get, ...asked }: PullOptions,
  firstPage: ListingPage | null,
  bounds: PullBounds,
): Promise<Pull | null> {
  const { name, kind, key } = upstream
  const query = queryOf(asked)
  const collected = new Collected(bounds)
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
    if (!collected.isFull) {
      const { missing, gatewayId } = readVia(query, response.headers, kind)
      const ageSeconds = readOldestAge(meta)
      return { ...result(), missing: readMissing(meta, missing) ?? undefined, ageSeconds, gatewayId }
    }
  } catch (error) {
    if (!signal.aborted && !(error instanceof SourceError && bounds.takes?.(error))) throw error
    if (received === 0) take(firstPage?.items ?? [])
    if (collected.listings.size === 0) throw error
  }
  // Its last line would say what the gateway lacks: its first page does, too.
  const { missing, ageSeconds, about } = firstPage ?? {}
  const partOf = Math.max(firstPage?.total ?? 0, received)
  return { ...result(), partOf, missing, ageSeconds, gatewayId: about?.gatewayId }

  function result(): Pick<Pull, 'listings' | 'invalid'> {
    const { listings, invalid } = collected
    return { listings, invalid }
  }

  function onLine(line: Buffer): void {
    rejectKeyEcho(line, key)
    lines.push(line)
    // Only the last line is not a listing.
    if (lines.length > MAX_PAGE_ITEMS) readLines()
    if (collected.isFull) enough.abort(new SourceError('too_large', `${name}: has more than is held`))
  }

  function readLines(): void {
    const rows = lines.splice(0, MAX_PAGE_ITEMS)
    if (rows.length === 0) return
    const envelope = renderEnvelope(rows, rows.length)
    const { items } = new ListingPage(envelope, { kind, conditions: conditionsOf(query), offset: 0 })
    collected.invalid += rows.length - items.length
    take(items)
    received += rows.length
  }

  function take(items: readonly PageItem[]): void {
    const matches = items.filter(({ isMatch }) => isMatch)
    collected.add(matches)
    bounds.onItems?.(matches.filter(({ isReadable }) => isReadable))
  }
}
