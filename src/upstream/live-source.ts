import type { ListingQuery } from '../domain/query.ts'
import {
  type Explanation,
  FULL_RANGE,
  type Range,
  type Reading,
  type Source,
} from '../domain/source/reading.ts'
import { SourceError } from '../domain/source/source-error.ts'
import type { UpstreamOptions } from '../domain/source/upstream.ts'
import type { Criterion } from '../filter-spec/criteria.ts'
import { Exclusions } from '../filter-spec/evaluate.ts'
import { unsentFilters } from '../filter-spec/parameters.ts'
import { parseJson } from '../json/value.ts'
import { rowConditions } from '../listing-index/row-conditions.ts'
import { queryParameters } from './page/fetch-page.ts'
import type { PageItem } from './page/listing-page.ts'
import type { PublisherDirectory } from './publisher-directory.ts'
import { firstAfter, type Run } from './reading/run.ts'
import type { RunCache, ServedRun } from './reading/run-cache.ts'

type LiveSourceOptions = {
  upstream: Pick<UpstreamOptions, 'name' | 'scanLimit'>
  runs: Pick<RunCache, 'read'>
  publishers: PublisherDirectory
}

/** For runs that are read whole. @throws SourceError `scan_limit` */
export function refuseLongScan({ name, scanLimit }: Pick<UpstreamOptions, 'name' | 'scanLimit'>) {
  return ({ expected }: Pick<Run, 'expected'>): void => {
    if (expected <= scanLimit) return
    throw new SourceError('scan_limit', `${name}: has more than ${scanLimit} listings, too many to read all`)
  }
}

/**
 * Unsent filters, a price limit, and a publisher that the upstream ignores, are evaluated here over at most `scanLimit`
 * listings. A reading of all listings has the same limit.
 */
export function liveSource({ upstream, runs, publishers }: LiveSourceOptions): Source {
  return async (query, range, signal) => {
    const unsent = unsentFilters(query)
    if (unsent.length > 0 || query.priceLimit !== undefined) return readFiltered(unsent, query, range, signal)
    const served = await runs.read(query, range, signal)
    const { run } = served
    const { listings, hasMore, invalid } = run.select(range)
    // Any listing of a complete run can be looked up, where its publisher distinguishes it from others with its id.
    const isAttributed = await publishers.attribute(run.isComplete ? run.listings : listings)
    const info = describeRun(served, isAttributed, invalid)
    if (listings.some((item) => !isPublishers(item, query)))
      return readFiltered(['publisher'], query, range, signal)
    return {
      ...info,
      listings,
      hasMore,
      total: run.total,
      ...(run.isComplete && { find: (listingId) => run.find(listingId) }),
      explanation: query.explain ? explain(run, query) : undefined,
    }
  }

  /** @param lacking what the upstream does not apply */
  async function readFiltered(
    lacking: readonly string[],
    query: ListingQuery,
    range: Range,
    signal: AbortSignal,
  ): Promise<Reading> {
    const served = await readAll(lacking, query, signal)
    const { run } = served
    const isAttributed = await publishers.attribute(run.listings)
    const criteria = query.criteria.filter(({ filter }) => lacking.includes(filter.name))
    const { passing, unreadable, hasUnknown, exclusions } = scan(run, criteria, query)
    // An unknown publisher might be the requested one.
    if (hasUnknown) throw unsupported(upstream.name, ['publisher'])
    const matches = [...passing]
    const start = firstAfter(matches, range.after)
    const listings = matches.slice(start, start + range.count)
    const hasMore = start + listings.length < matches.length
    const invalid = run.invalidBetween(matches[start - 1], hasMore ? listings.at(-1) : undefined)
    return {
      ...describeRun(served, isAttributed, start === 0 ? invalid + unreadable : invalid),
      listings,
      hasMore,
      total: matches.length,
      ...(run.isComplete && { find: (listingId) => run.find(listingId).filter((item) => passing.has(item)) }),
      explanation: query.explain ? explain(run, query, exclusions) : undefined,
    }
  }

  async function readAll(lacking: readonly string[], query: ListingQuery, signal: AbortSignal) {
    try {
      if (upstream.scanLimit === 0) refuseLongScan(upstream)({ expected: 1 })
      return await runs.read(query, FULL_RANGE, signal)
    } catch (error) {
      const isTooLong = error instanceof SourceError && error.reason === 'scan_limit'
      throw isTooLong && lacking.length > 0 ? unsupported(upstream.name, lacking) : error
    }
  }
}

function unsupported(name: string, filters: readonly string[]): SourceError {
  const message = `${name}: does not apply ${filters.join(', ')}, and has too many listings to do it here`
  return new SourceError('unsupported_filter', message, { filters })
}

function isPublishers(item: PageItem, { publisher, listingId }: ListingQuery): boolean {
  return publisher === null || listingId !== undefined || item.publisher === publisher
}

function scan({ listings }: Run, criteria: readonly Criterion[], query: ListingQuery) {
  const conditions = rowConditions(criteria, query.priceLimit)
  const exclusions = new Exclusions(criteria, query.priceLimit)
  const passing = new Set<PageItem>()
  let unreadable = 0
  let hasUnknown = false
  for (const item of listings) {
    const bytes = readBytes(item)
    if (bytes === null) unreadable++
    else if (!conditions.accept(bytes)) {
      if (query.explain) exclusions.add(parseJson(Buffer.from(bytes).toString()))
    } else if (isPublishers(item, query)) passing.add(item)
    else hasUnknown ||= item.publisher === null
  }
  return { passing, unreadable, hasUnknown, exclusions }
}

/** `null` for a listing that is too long, or nested too deep. */
function readBytes(item: PageItem): Uint8Array | null {
  try {
    return item.bytes
  } catch {
    return null
  }
}

/** Once unknown publishers are known, the answer differs. */
function describeRun(
  { run, cache, stale, reason, isCurrent }: ServedRun,
  isAttributed: boolean,
  invalid: number,
) {
  const { asOf, directives, missing } = run
  return {
    asOf: asOf - directives.ageSeconds * 1000,
    stale,
    reason,
    cache,
    isCurrent: isAttributed ? isCurrent : undefined,
    invalid: invalid || undefined,
    missing,
  }
}

function explain(run: Run, query: ListingQuery, unsent?: Exclusions): Explanation {
  const lacking = new Set(unsentFilters(query))
  const sent = new Exclusions(query.criteria.filter(({ filter }) => !lacking.has(filter.name)))
  for (const item of run.items) {
    const bytes = item.isMatch ? null : readBytes(item)
    if (bytes !== null) sent.add(parseJson(Buffer.from(bytes).toString()))
  }
  return { sent: queryParameters(query), excluded: [...sent.counts, ...(unsent?.counts ?? [])] }
}
