import type { Dispatcher } from 'undici'
import { ALL_OPEN, type ListingQuery } from '../../domain/query.ts'
import { addReporter, type MissingSource, readMissing } from '../../domain/source/missing-source.ts'
import { FULL_RANGE, type Item } from '../../domain/source/reading.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import type { UpstreamOptions } from '../../domain/source/upstream.ts'
import { isJsonObject, type JsonObject, parseObject } from '../../json/value.ts'
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

type PullOptions = {
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
  const { kind } = upstream
  const stream = new StreamReader(upstream, query, maxBytes())
  const get = createGet(upstream, agent, query.via)
  const response = await get(`/listings?${queryParameters(query)}`, {
    maxBytes: MAX_STREAM_BYTES,
    headers: { accept: 'application/x-ndjson', 'accept-encoding': 'identity' },
    lines: {
      maxLineBytes: MAX_ITEM_BYTES + MAX_META_BYTES,
      maxStreamMs: MAX_STREAM_MS,
      onLine: (line) => stream.add(line),
    },
  })
  if (!/ndjson/i.test(response.headers['content-type'] ?? '')) return null
  const { missing: options, gatewayId } = readVia(query, response.headers, kind)
  const missing = readMissing(stream.end(), options) ?? undefined
  return { listings: stream.listings, invalid: stream.invalid, missing, gatewayId }
}

/** Reads batches of lines as pages. */
class StreamReader {
  readonly listings = new Map<string, Item>()
  invalid = 0
  readonly #upstream: UpstreamOptions
  readonly #query: ListingQuery
  readonly #maxBytes: number
  #lines: Buffer[] = []
  #last: Buffer | null = null
  #bytes = 0

  constructor(upstream: UpstreamOptions, query: ListingQuery, maxBytes: number) {
    this.#upstream = upstream
    this.#query = query
    this.#maxBytes = maxBytes
  }

  add(line: Buffer): void {
    rejectKeyEcho(line, this.#upstream.key)
    // Only the last line is not a listing.
    if (this.#last !== null) this.#lines.push(this.#last)
    this.#last = line
    this.#bytes += line.length
    refuseTooLarge(this.#bytes, this.listings.size, this.#maxBytes)
    if (this.#lines.length === MAX_PAGE_ITEMS) this.#flush()
  }

  /** @throws SourceError without a last line */
  end(): JsonObject {
    this.#flush()
    const { _meta: meta } = this.#last === null ? {} : parseObject(this.#last.toString())
    if (isJsonObject(meta) && typeof meta.complete === 'boolean') return meta
    throw new SourceError('bad_envelope', `${this.#upstream.name}: the stream ended early`)
  }

  #flush(): void {
    const lines = this.#lines.splice(0)
    if (lines.length === 0) return
    const { kind } = this.#upstream
    const { items } = new ListingPage(renderEnvelope(lines, lines.length), {
      kind,
      scanner: scannerOf(this.#query),
      offset: 0,
    })
    const matches = items.filter(({ isMatch }) => isMatch)
    this.invalid += lines.length - items.length + addItems(this.listings, matches, this.#upstream)
    refuseTooMany(this.listings.size, this.#upstream)
  }
}
