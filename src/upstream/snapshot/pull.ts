import type { Dispatcher } from 'undici'
import { ALL_OPEN, type ListingQuery } from '../../domain/query.ts'
import { addReporter, type MissingSource, readMissing } from '../../domain/source/missing-source.ts'
import { FULL_RANGE, type Item } from '../../domain/source/reading.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import type { UpstreamOptions } from '../../domain/source/upstream.ts'
import { isJsonObject, parseObject } from '../../json/value.ts'
import { renderEnvelope } from '../../wire/envelope.ts'
import { createGet, rejectKeyEcho } from '../http/get.ts'
import { queryParameters, readVia } from '../page/fetch-page.ts'
import { scannerOf } from '../page/item-scanner.ts'
import {
  ListingPage,
  listingKey,
  MAX_ITEM_BYTES,
  MAX_PAGE_ITEMS,
  type PageItem,
} from '../page/listing-page.ts'
import type { PublisherDirectory } from '../publisher-directory.ts'
import { type ReadRunOptions, readRun } from '../reading/read-run.ts'
import type { Run } from '../reading/run.ts'

/** Open listings by key. */
export type Pull = {
  listings: ReadonlyMap<string, Item>
  invalid: number
  missing?: readonly MissingSource[] | undefined
  gatewayId?: string | undefined
}

export class TooLargeToHold extends Error {
  readonly listings: number
  constructor(listings: number, message: string) {
    super(message)
    this.listings = listings
  }
}

export type PullOptions = {
  upstream: UpstreamOptions
  agent: Dispatcher
  publishers: PublisherDirectory
  read: Pick<ReadRunOptions, 'fetch' | 'clock'>
  maxBytes: () => number
  gatewayId: string
}

const MAX_STREAM_MS = 120_000
/** Of a `_meta`, and of the last line. */
const MAX_META_BYTES = 256 * 1024
/** Unlimited: `maxBytes` is checked line by line. */
const MAX_STREAM_BYTES = 2 ** 40

/** @throws TooLargeToHold, or SourceError as the pages do */
export async function pull(options: PullOptions): Promise<Pull> {
  const query = { ...ALL_OPEN, via: [options.gatewayId] }
  const streamed = options.upstream.kind === 'gateway' ? await pullStream(options, query) : null
  const pulled = streamed ?? (await pullPages(options, query))
  return { ...pulled, missing: pulled.missing?.map((entry) => addReporter(entry, pulled.gatewayId)) }
}

async function pullPages(
  { upstream, publishers, read, maxBytes }: PullOptions,
  query: ListingQuery,
): Promise<Pull> {
  const check = ({ expected, items, pages }: Run): void => {
    const bytes = pages.reduce((sum, page) => sum + page.bytes.length, 0)
    refuseTooMany(expected, upstream)
    refuseTooLarge(bytes, items.length, maxBytes())
  }
  const run = await readRun({ upstream, ...read, check }, query, FULL_RANGE)
  await publishers.attribute(run.listings)
  const listings = new Map<string, Item>()
  const invalid = run.invalid + addItems(listings, run.listings, upstream)
  return { listings, invalid, missing: run.missing, gatewayId: run.pages.at(-1)?.about.gatewayId }
}

/** @returns the number of unreadable items: too long, or nested too deep */
function addItems(listings: Map<string, Item>, items: Iterable<PageItem>, { kind }: UpstreamOptions): number {
  let unreadable = 0
  for (const item of items) {
    try {
      listings.set(listingKey(item, kind), item.toItem())
    } catch {
      unreadable++
    }
  }
  return unreadable
}

function refuseTooMany(total: number, { name, maxListings }: UpstreamOptions): void {
  if (total <= maxListings) return
  throw new TooLargeToHold(total, `${name}: has ${total} listings, more than max_listings (${maxListings})`)
}

function refuseTooLarge(bytes: number, listings: number, maxBytes: number): void {
  if (bytes <= maxBytes) return
  throw new TooLargeToHold(listings, `its listings take more than its share of cache.max_bytes (${maxBytes})`)
}

/** `null` for an upstream without NDJSON. */
async function pullStream(
  { upstream, agent, maxBytes }: PullOptions,
  query: ListingQuery & { via: readonly string[] },
): Promise<Pull | null> {
  const { name, kind, key } = upstream
  const most = maxBytes()
  const listings = new Map<string, Item>()
  const lines: Buffer[] = []
  let invalid = 0
  let bytes = 0
  const get = createGet(upstream, agent, query.via)
  const response = await get(`/listings?${queryParameters(query)}`, {
    maxBytes: MAX_STREAM_BYTES,
    headers: { accept: 'application/x-ndjson', 'accept-encoding': 'identity' },
    lines: { maxLineBytes: MAX_ITEM_BYTES + MAX_META_BYTES, maxStreamMs: MAX_STREAM_MS, onLine },
  })
  if (!/ndjson/i.test(response.headers['content-type'] ?? '')) return null
  const last = lines.pop()
  readPage()
  const { _meta: meta } = last === undefined ? {} : parseObject(last.toString())
  if (!isJsonObject(meta) || typeof meta.complete !== 'boolean')
    throw new SourceError('bad_envelope', `${name}: the stream ended early`)
  const { missing, gatewayId } = readVia(query, response.headers, kind)
  return { listings, invalid, missing: readMissing(meta, missing) ?? undefined, gatewayId }

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
    const { items } = new ListingPage(envelope, { kind, scanner: scannerOf(query), offset: 0 })
    const matches = items.filter(({ isMatch }) => isMatch)
    invalid += rows.length - items.length + addItems(listings, matches, upstream)
    refuseTooMany(listings.size, upstream)
  }
}
