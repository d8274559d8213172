import { isAfter } from '../domain/source/position.ts'
import {
  FULL_RANGE,
  type Item,
  type Range,
  type Reading,
  type ReadingInfo,
} from '../domain/source/reading.ts'
import { SourceError } from '../domain/source/source-error.ts'
import type { UpstreamOptions } from '../domain/source/upstream.ts'
import { inTurns } from '../domain/turns.ts'
import { matchesAll } from '../filter-spec/evaluate.ts'
import type { Criterion } from '../filter-spec/filter.ts'
import { unsentFilters } from '../filter-spec/parameters.ts'
import type { PageItem } from './page/listing-page.ts'
import type { PublisherDirectory } from './publisher-directory.ts'
import { firstAfter, type Run } from './reading/run.ts'
import type { UpstreamQuery } from './upstream-query.ts'

type LiveSourceOptions = {
  upstream: Limited
  runs: { read: (query: UpstreamQuery, range: Range, signal: AbortSignal) => Promise<ServedRun> }
  publishers: PublisherDirectory
}

type ServedRun = Pick<ReadingInfo, 'stale' | 'reason' | 'cache' | 'isCurrent'> & { run: Run }

/** `scanLimit`: most listings read to apply a filter that the upstream lacks. */
type Limited = Pick<UpstreamOptions, 'name'> & { scanLimit: number }

/** A `Source` of an upstream behind the pushdown of filters. */
export type UpstreamSource = (query: UpstreamQuery, range: Range, signal: AbortSignal) => Promise<Reading>

/** For runs that are read whole. @throws SourceError `scan_limit` */
export function refuseLongScan({ name, scanLimit }: Limited) {
  return ({ expected }: Pick<Run, 'expected'>): void => {
    if (expected <= scanLimit) return
    throw new SourceError('scan_limit', `${name}: has more than ${scanLimit} listings, too many to read all`)
  }
}

/**
 * Unsent filters, a price limit, and a publisher that the upstream ignores, are evaluated here over at most `scanLimit`
 * listings. A reading of all listings has the same limit.
 */
export function liveSource({ upstream, runs, publishers }: LiveSourceOptions): UpstreamSource {
  return async (query, range, signal) => {
    const unsent = unsentFilters(query)
    if (unsent.length > 0 || query.priceLimit !== undefined) return readFiltered(unsent, query, range, signal)
    const reading = await describeRead(await runs.read(query, range, signal), publishers, range)
    if (reading.listings.some((item) => !isPublishers(item, query)))
      return readFiltered(['publisher'], query, range, signal)
    return reading
  }

  /** @param lacking what the upstream does not apply */
  async function readFiltered(
    lacking: readonly string[],
    query: UpstreamQuery,
    range: Range,
    signal: AbortSignal,
  ): Promise<Reading> {
    const served = await readAll(lacking, query, signal)
    const reading = await evaluateRun({ served, publishers, lacking }, { query, range, signal })
    return reading ?? Promise.reject(unsupported(upstream.name, ['publisher']))
  }

  async function readAll(lacking: readonly string[], query: UpstreamQuery, signal: AbortSignal) {
    try {
      if (upstream.scanLimit === 0) refuseLongScan(upstream)({ expected: 1 })
      return await runs.read(query, FULL_RANGE, signal)
    } catch (error) {
      const isTooLong = error instanceof SourceError && error.reason === 'scan_limit'
      throw isTooLong && lacking.length > 0 ? unsupported(upstream.name, lacking) : error
    }
  }
}

/** Of a run of exactly what the query asks for. */
async function describeRead(
  served: ServedRun,
  publishers: PublisherDirectory,
  range: Range,
): Promise<Reading> {
  const { run } = served
  const { listings, hasMore, invalid } = run.select(range)
  // A complete run has all matches, whose publishers distinguish listings of one id.
  const directory = await readDirectory(publishers, run.isComplete ? run.listings : listings)
  return {
    ...describeRun(served, directory, invalid),
    listings,
    hasMore,
    total: run.total,
    ...(run.isComplete && { all: run.listings }),
  }
}

type RunQuestion = { query: UpstreamQuery; range: Range; signal: AbortSignal }

type EvaluatedRun = { served: ServedRun; publishers: PublisherDirectory; lacking: readonly string[] }

/**
 * What matches of a run that was read to its end. `lacking`: what the upstream did not apply. `null` where the publisher of
 * a match is unknown, and might be the requested one.
 */
export async function evaluateRun(
  { served, publishers, lacking }: EvaluatedRun,
  { query, range, signal }: RunQuestion,
): Promise<Reading | null> {
  const isPlain = lacking.length === 0 && query.priceLimit === undefined && query.publisher === null
  if (isPlain) return describeRead(served, publishers, range)
  const { run } = served
  const directory = await readDirectory(publishers, run.listings)
  const criteria = query.criteria.filter(({ filter }) => lacking.includes(filter.name))
  const { passing: matches, unreadable, hasUnknown } = await inTurns(scan(run, criteria, query, signal))
  if (hasUnknown) return null
  const start = firstAfter(matches, range.after)
  const listings = matches.slice(start, start + range.count)
  const hasMore = start + listings.length < matches.length
  const last = hasMore ? (listings.at(-1) ?? null) : null
  const isWithin = (item: PageItem) => isAfter(item, range.after) && (last === null || !isAfter(item, last))
  const invalid =
    run.invalidBetween(matches[start - 1], last ?? undefined) + unreadable.filter(isWithin).length
  return {
    ...describeRun(served, directory, invalid),
    listings,
    hasMore,
    total: matches.length,
    ...(run.isComplete && { all: matches }),
  }
}

function unsupported(name: string, filters: readonly string[]): SourceError {
  const message = `${name}: does not apply ${filters.join(', ')}, and has too many listings to do it here`
  return new SourceError('unsupported_filter', message, { filters })
}

function isPublishers(item: Item, { publisher, listingId }: UpstreamQuery): boolean {
  return publisher === null || listingId !== undefined || item.publisher === publisher
}

type Scanned = {
  passing: PageItem[]
  unreadable: PageItem[]
  hasUnknown: boolean
}

/** In steps of one listing. Ends with the query, since no reader is left for the result. */
function* scan(
  { listings }: Run,
  criteria: readonly Criterion[],
  query: UpstreamQuery,
  signal: AbortSignal,
): Generator<void, Scanned> {
  const passing: PageItem[] = []
  const unreadable: PageItem[] = []
  let hasUnknown = false
  for (const item of listings) {
    if (!item.isReadable) unreadable.push(item)
    else if (matchesAll(criteria, item.value, query.priceLimit)) {
      if (isPublishers(item, query)) passing.push(item)
      else hasUnknown ||= item.publisher === null
    }
    yield
    signal.throwIfAborted()
  }
  return { passing, unreadable, hasUnknown }
}

type DirectoryRead = { hasEnded: boolean; isAttributed: boolean }

async function readDirectory(
  publishers: PublisherDirectory,
  items: readonly PageItem[],
): Promise<DirectoryRead> {
  const hasEnded = await publishers.attribute(items)
  const isDoubted = !hasEnded || publishers.isBehind
  return { hasEnded, isAttributed: !isDoubted || items.every(({ publisher }) => publisher !== null) }
}

/** A Reading with unknown publishers is not served again: they may be known by then. */
function describeRun(
  { run, cache, stale, reason, isCurrent }: ServedRun,
  { hasEnded, isAttributed }: DirectoryRead,
  invalid: number,
) {
  const { asOf, ageSeconds, missing } = run
  return {
    asOf: asOf - ageSeconds * 1000,
    stale,
    reason,
    cache,
    isCurrent: hasEnded ? isCurrent : undefined,
    isAttributed,
    invalid: invalid || undefined,
    missing,
  }
}
