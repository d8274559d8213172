import {
  addReporter,
  type MissingSource,
  readMissing,
  readOldestAge,
} from '../../domain/source/missing-source.ts'
import { FULL_RANGE, type Item } from '../../domain/source/reading.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import type { UpstreamOptions } from '../../domain/source/upstream.ts'
import { MAX_PAGE_ITEMS } from '../../domain/walk/walk.ts'
import { isJsonObject, parseObject } from '../../json/value.ts'
import { renderEnvelope } from '../../wire/envelope.ts'
import type { Get } from '../http/get.ts'
import { rejectKeyEcho } from '../http/request.ts'
import { type FetchPage, queryParameters, readVia } from '../page/fetch-page.ts'
import { conditionsOf, ListingPage, MAX_ITEM_BYTES, type PageItem } from '../page/listing-page.ts'
import type { Attributable, PublisherDirectory } from '../publisher-directory.ts'
import { type ReadRunOptions, readRun } from '../reading/read-run.ts'
import type { Run } from '../reading/run.ts'
import { PLAIN_QUERY, type UpstreamQuery } from '../upstream-query.ts'
import { type FirstPage, fetchCounts, isWhole } from './first-page.ts'
import { LISTING_HEAP_BYTES, MAX_COPIES, snapshotKey } from './snapshot.ts'

/** Open listings by key. */
export type Pull = {
  listings: ReadonlyMap<string, Item>
  invalid: number
  missing?: readonly MissingSource[] | undefined
  /** Age of its oldest data when they were sent. */
  ageSeconds?: number | undefined
  gatewayId?: string | undefined
  /** Publishers by key, of listings whose publisher is found after the pull. Never rejects. */
  publishersLater?: Promise<ReadonlyMap<string, string>> | undefined
}

export class TooLargeToHold extends Error {
  readonly why: 'too_many_listings' | 'too_large'
  readonly listings: number
  /** Of those listings; 0 where it does not matter. */
  readonly bytes: number
  constructor(why: TooLargeToHold['why'], { listings, bytes }: { listings: number; bytes: number }) {
    super(why)
    this.why = why
    this.listings = listings
    this.bytes = bytes
  }
}

export type PullOptions = {
  upstream: UpstreamOptions
  get: Get
  publishers: PublisherDirectory
  read: Pick<ReadRunOptions, 'fetch' | 'clock'>
  /** Memory of its snapshot. */
  maxBytes: () => number
  gatewayId: string
}

const MAX_STREAM_MS = 120_000
/** A larger first page is requested again. */
const MAX_KEPT_BYTES = 2 ** 20
/** Of a `_meta`, and of the last line. */
const MAX_META_BYTES = 256 * 1024
/** Unlimited: `maxBytes` is checked line by line. */
const MAX_STREAM_BYTES = 2 ** 40

/**
 * Fetches the first page, and the counts, which a gateway lacks. Where the upstream gave an ETag, an unchanged page is not
 * sent again. Rejects with a SourceError.
 */
export function firstPageFetcher({ upstream, get, read, gatewayId }: PullOptions): () => Promise<FirstPage> {
  let earlierPage: ListingPage | undefined
  return async () => {
    const askedAt = read.clock.monotonic()
    const [page, counts] = await Promise.all([
      read.fetch(allOpen(gatewayId), FIRST_PAGE, earlierPage).catch(ignoreSplittable),
      upstream.kind === 'gateway' ? null : fetchCounts(get),
    ])
    earlierPage = page !== null && mayKeep(page) ? page : undefined
    return { askedAt, page, counts }
  }
}

const FIRST_PAGE = { offset: 0, limit: MAX_PAGE_ITEMS }

/** The ages of sources that a gateway misses go on. */
function mayKeep({ about, missing, bytes }: ListingPage): boolean {
  return about.etag !== undefined && missing === undefined && bytes.length <= MAX_KEPT_BYTES
}

/** A single listing may be the cause, which a whole pull finds out. */
function ignoreSplittable(error: unknown): null {
  if (error instanceof SourceError && error.traits.splitsPage === 'any') return null
  throw error
}

/** All listings, of which the first page was just read. @throws TooLargeToHold, or SourceError as the pages do */
export async function pull(options: PullOptions, { page }: Pick<FirstPage, 'page'>): Promise<Pull> {
  const query = allOpen(options.gatewayId)
  const isStream = options.upstream.kind === 'gateway' && (page === null || !isWhole(page))
  const streamed = isStream ? await pullStream(options, query) : null
  const pulled = streamed ?? (await pullPages(options, query, page))
  return { ...pulled, missing: pulled.missing?.map((entry) => addReporter(entry, pulled.gatewayId)) }
}

function allOpen(gatewayId: string): UpstreamQuery & { via: readonly string[] } {
  return { ...PLAIN_QUERY, via: [gatewayId] }
}

async function pullPages(
  { upstream, publishers, read: { fetch, clock }, maxBytes }: PullOptions,
  query: UpstreamQuery,
  firstPage: ListingPage | null,
): Promise<Pull> {
  let first = firstPage
  const fetchNext: FetchPage = async (asked, request) => {
    const page = request.offset === 0 ? first : null
    first = null
    return page ?? fetch(asked, request)
  }
  const check = ({ expected, items, pages }: Run): void => {
    const bytes = pages.reduce((sum, page) => sum + page.bytes.length, 0)
    refuseTooMany(expected, upstream)
    refuseTooLarge(bytes, items.length, maxBytes())
  }
  const run = await readRun({ upstream, fetch: fetchNext, clock, check }, query, FULL_RANGE)
  // A gateway may repeat a listing, and the last one counts.
  const items =
    upstream.kind === 'gateway'
      ? run.pages.flatMap((page) => page.items.filter(({ isMatch }) => isMatch))
      : run.listings
  const hasEnded = await publishers.attributeAll(items)
  const listings = new Map<string, Item>()
  const invalid = run.invalid + addItems(listings, items, new Map())
  const publishersLater = hasEnded ? undefined : attributeLater(items, publishers)
  const { gatewayId } = run.pages.at(-1)?.about ?? {}
  const { missing, ageSeconds } = run
  return { listings, invalid, missing, ageSeconds, gatewayId, publishersLater }
}

/** Keeps ids only, which releases the pages. */
function attributeLater(
  items: readonly PageItem[],
  publishers: PublisherDirectory,
): Promise<ReadonlyMap<string, string>> {
  const unknown: (Attributable & { key: string })[] = items
    .filter(({ publisher }) => publisher === null)
    .map((item) => ({ key: snapshotKey(item), publisherId: item.publisherId, publisher: null }))
  return (publishers.search ?? Promise.resolve()).then(() => {
    publishers.setKnown(unknown)
    return new Map(unknown.flatMap(({ key, publisher }) => (publisher === null ? [] : [[key, publisher]])))
  })
}

/**
 * @param copies listings of each id so far
 * @returns the number of items that are not added: too long, nested too deep, or one of too many of its id
 */
function addItems(
  listings: Map<string, Item>,
  items: Iterable<PageItem>,
  copies: Map<string, number>,
): number {
  let invalid = 0
  for (const item of items) {
    const key = snapshotKey(item)
    const count = copies.get(item.listingId) ?? 0
    if (!item.isReadable || (count >= MAX_COPIES && !listings.has(key))) {
      invalid++
      continue
    }
    if (!listings.has(key)) copies.set(item.listingId, count + 1)
    listings.set(key, item.toItem())
  }
  return invalid
}

function refuseTooMany(listings: number, { maxListings }: UpstreamOptions): void {
  if (listings > maxListings) throw new TooLargeToHold('too_many_listings', { listings, bytes: 0 })
}

function refuseTooLarge(textBytes: number, listings: number, maxBytes: number): void {
  const bytes = textBytes + listings * LISTING_HEAP_BYTES
  if (bytes > maxBytes) throw new TooLargeToHold('too_large', { listings, bytes })
}

/** `null` for an upstream without NDJSON. */
async function pullStream(
  { upstream, get, maxBytes }: PullOptions,
  query: UpstreamQuery & { via: readonly string[] },
): Promise<Pull | null> {
  const { name, kind, key } = upstream
  const most = maxBytes()
  const listings = new Map<string, Item>()
  const copies = new Map<string, number>()
  const lines: Buffer[] = []
  let invalid = 0
  let bytes = 0
  let received = 0
  const response = await get(`/listings?${queryParameters(query)}`, {
    maxBytes: MAX_STREAM_BYTES,
    headers: { accept: 'application/x-ndjson', 'accept-encoding': 'gzip' },
    lines: { maxLineBytes: MAX_ITEM_BYTES + MAX_META_BYTES, maxStreamMs: MAX_STREAM_MS, onLine },
  })
  if (!/ndjson/i.test(response.headers['content-type'] ?? '')) return null
  const last = lines.pop()
  readPage()
  const { _meta: meta } = last === undefined ? {} : parseObject(last.toString())
  if (!isJsonObject(meta) || typeof meta.complete !== 'boolean')
    throw new SourceError('bad_envelope', `${name}: the stream ended early`)
  const { missing, gatewayId } = readVia(query, response.headers, kind)
  return {
    listings,
    invalid,
    missing: readMissing(meta, missing) ?? undefined,
    ageSeconds: readOldestAge(meta.sources),
    gatewayId,
  }

  function onLine(line: Buffer): void {
    rejectKeyEcho(line, key)
    lines.push(line)
    bytes += line.length
    refuseTooLarge(bytes, listings.size, most)
    // Only the last line is not a listing.
    if (lines.length > MAX_PAGE_ITEMS) readPage()
  }

  function readPage(): void {
    const rows = lines.splice(0, MAX_PAGE_ITEMS)
    if (rows.length === 0) return
    const envelope = renderEnvelope(rows, rows.length)
    const { items } = new ListingPage(envelope, { kind, conditions: conditionsOf(query), offset: 0 })
    const matches = items.filter(({ isMatch }) => isMatch)
    invalid += rows.length - items.length + addItems(listings, matches, copies)
    // Repeated and unreadable rows take time, too.
    received += rows.length
    refuseTooMany(received, upstream)
  }
}
