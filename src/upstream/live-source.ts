import type { ListingQuery } from '../domain/query.ts'
import {
  compareSortKeys,
  type Explanation,
  type Range,
  type Reading,
  type Source,
  WHOLE,
} from '../domain/reading.ts'
import { SourceError } from '../domain/source-error.ts'
import type { UpstreamOptions } from '../domain/upstream.ts'
import type { Criterion } from '../filter-spec/criteria.ts'
import { Exclusions } from '../filter-spec/exclusions.ts'
import { unsentFilters } from '../filter-spec/unsent-filters.ts'
import { parseJson } from '../json/value.ts'
import { rowConditions } from '../listing-index/row-conditions.ts'
import { queryParameters } from './page/fetch-page.ts'
import type { PageItem } from './page/listing-page.ts'
import type { PublisherDirectory } from './publisher-directory.ts'
import type { Run } from './reading/run.ts'
import type { RunCache, ServedRun } from './reading/run-cache.ts'

type LiveSourceOptions = {
  upstream: Pick<UpstreamOptions, 'name' | 'scanLimit'>
  runs: Pick<RunCache, 'read'>
  publishers: PublisherDirectory
}

class TooManyToScan extends Error {}

/** For runs that are read whole to be filtered here. */
export function refuseLongScan({ scanLimit }: Pick<UpstreamOptions, 'scanLimit'>): (run: Run) => void {
  return ({ expected }) => {
    if (expected > scanLimit) throw new TooManyToScan()
  }
}

/**
 * Unsent filters, and a publisher that the upstream ignores, are evaluated here over at most `scanLimit`
 * listings.
 */
export function liveSource({ upstream, runs, publishers }: LiveSourceOptions): Source {
  return async (query, range, signal) => {
    const unsent = unsentFilters(query)
    if (unsent.length > 0) return readFiltered(unsent, query, range, signal)
    const served = await runs.read(query, range, signal)
    const { listings, hasMore } = served.run.select(range)
    const isAttributed = await publishers.attribute(listings)
    if (listings.some((item) => !isPublishers(item, query))) return readFiltered([], query, range, signal)
    return toReading({ served, query, listings, hasMore, isAttributed, total: served.run.total })
  }

  async function readFiltered(
    unsent: readonly string[],
    query: ListingQuery,
    range: Range,
    signal: AbortSignal,
  ): Promise<Reading> {
    const names = unsent.length > 0 ? unsent : ['publisher']
    if (upstream.scanLimit === 0) throw unsupported(upstream.name, names)
    const served = await runs.read(query, WHOLE, signal).catch((error: unknown) => {
      throw error instanceof TooManyToScan ? unsupported(upstream.name, names) : error
    })
    const isAttributed = await publishers.attribute(served.run.listings)
    const criteria = query.criteria.filter(({ filter }) => unsent.includes(filter.name))
    const scan = scanRun(served.run, criteria, query)
    // An unknown publisher might be the requested one.
    if (scan.hasUnknown) throw unsupported(upstream.name, ['publisher'])
    const { matches, isMatch } = scan
    const first = range.after === null ? 0 : firstBehind(matches, range.after)
    const end = Math.min(first + range.count, matches.length)
    return toReading({
      served,
      query,
      listings: matches.slice(first, end),
      hasMore: end < matches.length,
      isAttributed,
      total: matches.length,
      isMatch,
      ...(query.explain ? { exclusions: scan.exclusions } : {}),
    })
  }
}

function firstBehind(matches: readonly PageItem[], after: NonNullable<Range['after']>): number {
  const { position, listingId } = after
  const key = { position, listingId: listingId ?? '\uffff'.repeat(201) }
  const first = matches.findIndex((item) => compareSortKeys(item, key) > 0)
  return first === -1 ? matches.length : first
}

function unsupported(name: string, filters: readonly string[]): SourceError {
  const message = `${name}: does not apply ${filters.join(', ')}, and has too many listings to do it here`
  return new SourceError('unsupported_filter', message, { filters })
}

function isPublishers(item: PageItem, { publisher, listingId }: ListingQuery): boolean {
  return publisher === null || listingId !== undefined || item.publisher === publisher
}

type Scan = {
  matches: PageItem[]
  isMatch: (item: PageItem) => boolean
  hasUnknown: boolean
  exclusions: Exclusions
}

function scanRun({ listings }: Run, criteria: readonly Criterion[], query: ListingQuery): Scan {
  const conditions = rowConditions(criteria)
  const exclusions = new Exclusions(criteria)
  const passing = new Set<PageItem>()
  let hasUnknown = false
  for (const item of listings) {
    const bytes = readBytes(item)
    if (bytes === null) continue
    if (conditions.accept(bytes)) {
      if (isPublishers(item, query)) passing.add(item)
      else hasUnknown ||= item.publisher === null
    } else if (query.explain) exclusions.add(parseJson(Buffer.from(bytes).toString()))
  }
  const isMatch = (item: PageItem): boolean => passing.has(item)
  return { matches: [...passing], isMatch, hasUnknown, exclusions }
}

/** `null` for a listing that is too long, or nested too deep. */
function readBytes(item: PageItem): Uint8Array | null {
  try {
    return item.bytes
  } catch {
    return null
  }
}

type Parts = {
  served: ServedRun
  query: ListingQuery
  listings: readonly PageItem[]
  hasMore: boolean
  total: number
  isAttributed: boolean
  /** Default: as the upstream filtered. */
  isMatch?: (item: PageItem) => boolean
  exclusions?: Exclusions
}

function toReading({ served, query, isMatch, ...parts }: Parts): Reading {
  const { run, cache, stale, reason, isCurrent } = served
  const { missing, invalid } = run
  return {
    listings: parts.listings,
    hasMore: parts.hasMore,
    total: parts.total,
    asOf: run.asOf - run.directives.ageSeconds * 1000,
    stale,
    cache,
    // Once the publishers are known, the answer differs.
    ...(parts.isAttributed ? { isCurrent } : {}),
    ...(reason === undefined ? {} : { reason }),
    ...(invalid === 0 ? {} : { invalid }),
    ...(missing === undefined ? {} : { missing }),
    ...(run.isWhole ? { find: finder(run, isMatch) } : {}),
    ...(query.explain ? { explanation: explain(run, query, parts.exclusions) } : {}),
  }
}

function finder(run: Run, isMatch?: (item: PageItem) => boolean): NonNullable<Reading['find']> {
  return (listingId) => {
    const found = run.find(listingId)
    return isMatch === undefined ? found : found.filter(isMatch)
  }
}

function explain(run: Run, query: ListingQuery, unsent?: Exclusions): Explanation {
  const lacking = new Set(unsentFilters(query))
  const sent = new Exclusions(query.criteria.filter(({ filter }) => !lacking.has(filter.name)))
  for (const item of run.items) {
    const bytes = item.isMatch ? null : readBytes(item)
    if (bytes !== null) sent.add(parseJson(Buffer.from(bytes).toString()))
  }
  return { sent: queryParameters(query), excluded: [...sent.list, ...(unsent?.list ?? [])] }
}
