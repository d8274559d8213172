import type { Dispatcher } from 'undici'
import { addReporter, type MissingSource, readMissing } from '../../domain/missing-source.ts'
import { ALL_OPEN, type ListingQuery } from '../../domain/query.ts'
import { type Item, WHOLE } from '../../domain/reading.ts'
import { SourceError } from '../../domain/source-error.ts'
import type { UpstreamOptions } from '../../domain/upstream.ts'
import { isJsonObject } from '../../json/value.ts'
import { sendForLines } from '../http/client.ts'
import { parseRetryAfter, reasonOfStatus } from '../http/errors.ts'
import { loopHeaders, rejectKeyEcho, requestHeaders } from '../http/get.ts'
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
  missing?: readonly MissingSource[]
  gatewayId?: string
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

/** @throws TooLargeToHold, or SourceError as the pages do */
export async function pull(options: PullOptions): Promise<Pull> {
  const query = { ...ALL_OPEN, via: [options.gatewayId] }
  const streamed = options.upstream.kind === 'gateway' ? await pullStream(options, query) : null
  return streamed ?? pullPages(options, query)
}

async function pullPages(
  { upstream, publishers, read, maxBytes }: PullOptions,
  query: ListingQuery,
): Promise<Pull> {
  const check = (run: Run): void => {
    refuseTooMany(Math.max(run.pages.at(-1)?.total ?? 0, run.items.length), upstream)
    refuseTooLarge(
      run.pages.reduce((sum, { bytes }) => sum + bytes.length, 0),
      run.items.length,
      maxBytes(),
    )
  }
  const run = await readRun({ upstream, ...read, check }, query, WHOLE)
  await publishers.attribute(run.listings)
  const { invalid, missing } = run
  const { listings, unreadable } = collect(run.listings, upstream)
  const gatewayId = run.pages.at(-1)?.gatewayId
  return withReporter(missing, gatewayId, { listings, invalid: invalid + unreadable })
}

function withReporter(
  missing: readonly MissingSource[] | undefined,
  gatewayId: string | undefined,
  pull: Pick<Pull, 'listings' | 'invalid'>,
): Pull {
  return {
    ...pull,
    ...(missing === undefined ? {} : { missing: missing.map((entry) => addReporter(entry, gatewayId)) }),
    ...(gatewayId === undefined ? {} : { gatewayId }),
  }
}

function collect(
  items: Iterable<PageItem>,
  { kind }: UpstreamOptions,
): { listings: Map<string, Item>; unreadable: number } {
  const listings = new Map<string, Item>()
  let unreadable = 0
  for (const item of items) {
    try {
      listings.set(listingKey(item, kind), item.toItem())
    } catch {
      unreadable++ // too long or nested too deep
    }
  }
  return { listings, unreadable }
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
  const { name, timeoutMs } = upstream
  const { origin, pathname } = new URL(upstream.url)
  const stream = new StreamReader(upstream, query, maxBytes())
  const request = {
    origin,
    path: `${pathname.replace(/\/+$/, '')}/listings?${queryParameters(query)}`,
    headers: {
      ...requestHeaders(upstream),
      ...loopHeaders(query.via),
      accept: 'application/x-ndjson',
      'accept-encoding': 'identity',
    },
    maxBytes: MAX_BYTES_ON_THE_WAY,
    maxLineBytes: MAX_ITEM_BYTES + MAX_META_BYTES,
    timeoutMs,
    maxStreamMs: MAX_STREAM_MS,
  }
  const { status, headers } = await sendForLines(agent, request, name, (line, isNdjson) => {
    if (isNdjson) stream.add(line)
  })
  if (status !== 200)
    throw new SourceError(reasonOfStatus(status), `${name}: answered ${status}`, {
      retryAfterMs: parseRetryAfter(headers['retry-after']?.toString(), Date.now()),
    })
  if (!/ndjson/i.test(headers['content-type'] ?? '')) return null
  const { missing: options, gatewayId } = readVia(query, headers, upstream)
  const end = stream.end()
  return withReporter(readMissing(end, options) ?? undefined, gatewayId, stream)
}

/** Unlimited: `maxBytes` is checked line by line. */
const MAX_BYTES_ON_THE_WAY = 2 ** 40

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
  end(): { complete?: boolean; sources?: never } {
    this.#flush()
    try {
      const last: unknown = JSON.parse(this.#last?.toString() ?? '')
      if (isJsonObject(last) && isJsonObject(last._meta) && typeof last._meta.complete === 'boolean')
        return last._meta as never
    } catch {
      // cut off within the last line
    }
    throw new SourceError('bad_envelope', `${this.#upstream.name}: the stream ended early`)
  }

  #flush(): void {
    const { length } = this.#lines
    if (length === 0) return
    const parts = this.#lines.flatMap((line, n) => (n === 0 ? [line] : [COMMA, line]))
    const tail = Buffer.from(`],"count":${length},"total_after_filter":${length}}`)
    const page = new ListingPage(Buffer.concat([HEAD, ...parts, tail]), {
      kind: this.#upstream.kind,
      scanner: scannerOf(this.#query),
      offset: 0,
    })
    const matching = page.items.filter(({ isMatch }) => isMatch)
    const { listings, unreadable } = collect(matching, this.#upstream)
    for (const [key, item] of listings) this.listings.set(key, item)
    this.invalid += length - page.items.length + unreadable
    this.#lines = []
    refuseTooMany(this.listings.size, this.#upstream)
  }
}

const HEAD = Buffer.from('{"items":[')
const COMMA = Buffer.from(',')
