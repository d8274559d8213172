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
import type { Get } from '../http/request.ts'
import { type FetchPage, queryParameters, readVia } from '../page/fetch-page.ts'
import { canBeHeld, conditionsOf, ListingPage, MAX_ITEM_BYTES, type PageItem } from '../page/listing-page.ts'
import type { PublisherDirectory } from '../publisher-directory.ts'
import type { UpstreamQuery } from '../push-down.ts'
import { isWhole } from './first-page.ts'
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
  upstream: Pick<UpstreamOptions, 'name' | 'kind'>
  get: Get
  publishers: PublisherDirectory
  fetch: FetchPage
  /** What is pulled. */
  query: UpstreamQuery
}

/** Of a stream whose bytes keep arriving: a million listings of 1.5 kB take so long at 20 Mbit/s. */
const MAX_STREAM_MS = 600_000
/** Of a `_meta`, and of the last line. */
const MAX_META_BYTES = 256 * 1024
/** Unlimited: the bounds of the pull hold. */
const MAX_STREAM_BYTES = 2 ** 40

/**
 * All listings; or as many as are beyond the bounds, of which `newestOf` are within. `page`: the first one, if it was just read.
 * Rejects as the pages do.
 */
export function pull(options: PullOptions, page: ListingPage | null, bounds: PullBounds): Promise<Pull> {
  // Whatever the configuration says, a plain Registry is known by its pages.
  const isGateway = options.upstream.kind === 'gateway' && page?.isGateway !== false
  return isGateway ? pullGateway(options, page, bounds) : pullRegistry(options, page, bounds)
}

async function pullRegistry(
  options: PullOptions,
  firstPage: ListingPage | null,
  bounds: PullBounds,
): Promise<Pull> {
  const joined = await joinPages(options, firstPage, bounds)
  const { missing, ageSeconds, invalid, isEnded, expected } = joined
  const byKey = [...joined.collected.listings]
  const items = byKey.map(([, item]) => item)
  await options.publishers.attributeAll(items)
  const listings = new Map(byKey.map(([key, item]) => [key, item.toItem()]))
  // A gateway that may ask no source answers as a Registry does.
  const { gatewayId } = joined.pages.at(-1)?.about ?? {}
  return { listings, partOf: isEnded ? undefined : expected, invalid, missing, ageSeconds, gatewayId }
}

/** Of one stream, but where the first page is all, or enough. */
async function pullGateway(
  { upstream: { name, kind }, get, query }: PullOptions,
  firstPage: ListingPage | null,
  bounds: PullBounds,
): Promise<Pull> {
  const { missing, ageSeconds, about, total = 0 } = firstPage ?? {}
  // What the last line of a stream says, its first page says, too.
  const { gatewayId } = about ?? {}
  const reported = { ageSeconds, gatewayId, missing: missing?.map((entry) => addReporter(entry, gatewayId)) }
  const first = new ReceivedRows()
  if (firstPage !== null) {
    const added = first.take(firstPage)
    const isAll = isWhole(firstPage)
    if (isAll || isBeyond(bounds, first.collected)) {
      bounds.onItems?.(added)
      return { ...first.result, ...reported, partOf: isAll ? undefined : total }
    }
  }
  const streamed = new ReceivedRows()
  const lines: Buffer[] = []
  const enough = new SourceError('too_large', `${name}: has more than is held`)
  try {
    const response = await get(`/listings?${queryParameters(query)}`, {
      maxBytes: MAX_STREAM_BYTES,
      headers: { 'accept-encoding': 'gzip' },
      lines: {
        mediaType: 'application/x-ndjson',
        maxLineBytes: MAX_ITEM_BYTES + MAX_META_BYTES,
        maxStreamMs: MAX_STREAM_MS,
        onLine,
      },
    })
    const last = lines.pop()
    readLines()
    const { _meta: meta } = last === undefined ? {} : parseObject(last.toString())
    if (!isJsonObject(meta) || typeof meta.complete !== 'boolean')
      throw new SourceError('bad_envelope', `${name}: the stream ended early`)
    const via = readVia(query, response.headers, kind)
    const lacked = readMissing(meta, via.missing)?.map((entry) => addReporter(entry, via.gatewayId))
    return { ...streamed.result, ...via, ageSeconds: readOldestAge(meta), missing: lacked }
  } catch (error) {
    if (error !== enough) throw error
    return { ...streamed.result, ...reported, partOf: Math.max(total, streamed.received) }
  }

  function onLine(line: Buffer): void {
    lines.push(line)
    // Only the last line is not a listing.
    if (lines.length > MAX_PAGE_ITEMS) readLines()
    if (isBeyond(bounds, streamed.collected)) throw enough
  }

  function readLines(): void {
    const rows = lines.splice(0, MAX_PAGE_ITEMS)
    if (rows.length === 0) return
    const conditions = conditionsOf(query)
    const page = new ListingPage(renderEnvelope(rows, rows.length), { kind, conditions, offset: 0 })
    const added = streamed.take(page)
    bounds.onItems?.(added)
  }
}

class ReceivedRows {
  readonly collected = new Collected<Item>()
  /** Unreadable ones included. */
  received = 0
  #unreadable = 0

  /** @returns those that can be held */
  take({ items, received }: ListingPage): readonly PageItem[] {
    const readable = items.filter(canBeHeld)
    this.received += received
    this.#unreadable += received - items.length
    this.#unreadable += items.filter(({ isMatch }) => isMatch).length - readable.length
    this.collected.add(readable.map((item) => item.toItem()))
    return readable
  }

  get result(): Pick<Pull, 'listings' | 'invalid'> {
    const { listings, withoutRoom } = this.collected
    return { listings, invalid: this.#unreadable + withoutRoom }
  }
}
