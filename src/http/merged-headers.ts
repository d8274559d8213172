import { createHash } from 'node:crypto'
import type { Reader } from '../domain/api-key.ts'
import type { Clock } from '../domain/clock.ts'
import { SourceError } from '../domain/source-error.ts'
import { CURSOR_SECONDS } from '../gateway/cursor.ts'
import type { FoundListing } from '../gateway/find-listing.ts'
import type { Outcome } from '../gateway/outcome.ts'
import type { MergedPage } from '../gateway/pages.ts'
import { cacheStatus } from './cache-status.ts'
import { joinWithin } from './list-header.ts'

export type MergedHeaderOptions = {
  gatewayId: string
  /** Longest `max-age`. */
  freshSeconds: number
  cursorKeyId: string
  clock: Clock
}

/** Together below 4 KiB: proxies refuse long headers, and Node's clients more than 16 KiB. */
const MAX_CACHE_STATUS = 2400
const MAX_SERVER_TIMING = 1600

/** docs/contract.md#4-headers, about visible sources. `rows`: the items as sent. */
export const mergedHeaders = (
  answer: MergedPage,
  rows: Uint8Array,
  reader: Reader,
  { gatewayId, freshSeconds, ...cursors }: MergedHeaderOptions,
): Record<string, string> => ({
  'Cache-Control': answer.complete
    ? `${audience(reader)}, max-age=${maxAge(answer.outcomes, freshSeconds)}`
    : 'no-store',
  'Cache-Status': cacheStatus(answer.outcomes, MAX_CACHE_STATUS),
  ETag: `W/"${fingerprint(answer, rows, cursors)}"`,
  'Server-Timing': serverTiming(answer.outcomes),
  Vary: MERGED_VARY,
  Via: `1.1 ${gatewayId}`,
})

export const oneListingHeaders = (
  { outcomes, complete }: Pick<FoundListing, 'outcomes' | 'complete'>,
  reader: Reader,
  { gatewayId, freshSeconds }: Pick<MergedHeaderOptions, 'gatewayId' | 'freshSeconds'>,
): Record<string, string> => ({
  'Cache-Control': complete ? `${audience(reader)}, max-age=${maxAge(outcomes, freshSeconds)}` : 'no-store',
  'Cache-Status': cacheStatus(outcomes, MAX_CACHE_STATUS),
  'Server-Timing': serverTiming(outcomes),
  Vary: MERGED_VARY,
  Via: `1.1 ${gatewayId}`,
})

/** Completeness is not known yet: the last line of the stream reports it. */
export const streamHeaders = (
  outcomes: readonly Outcome[],
  { gatewayId }: Pick<MergedHeaderOptions, 'gatewayId'>,
): Record<string, string> => ({
  'Cache-Control': 'no-store',
  'Cache-Status': cacheStatus(outcomes, MAX_CACHE_STATUS),
  Vary: MERGED_VARY,
  Via: `1.1 ${gatewayId}`,
})

const MERGED_VARY = 'Accept, Authorization'

/** Readers without a key all see the same. */
const audience = (reader: Reader): string => (reader.kind === 'anonymous' ? 'public' : 'private')

function maxAge(outcomes: readonly Outcome[], freshSeconds: number): number {
  const remaining = outcomes.flatMap(({ result }) =>
    result instanceof SourceError || result.cache === undefined ? [] : [result.cache.ttlSeconds],
  )
  return Math.max(0, Math.floor(Math.min(freshSeconds, ...remaining)))
}

type CursorOptions = Pick<MergedHeaderOptions, 'cursorKeyId' | 'clock'>

/** Equal for equal contents: ignores elapsed times, ages and the bytes of a cursor. */
function fingerprint(
  { total, complete, sources, nextCursor }: MergedPage,
  rows: Uint8Array,
  cursors: CursorOptions,
): string {
  const states = sources.map(({ age_seconds, elapsed_ms, ...state }) => state)
  const rest = [total, complete, states, nextCursor === undefined ? null : cursorPeriod(cursors)]
  const hash = createHash('sha256').update(rows).update(JSON.stringify(rest))
  return hash.digest('base64url').slice(0, 27)
}

/** Changes after half a cursor's life and with its key: readers then get a new cursor. */
function cursorPeriod({ cursorKeyId, clock }: CursorOptions): string {
  return `${cursorKeyId} ${Math.floor(clock.now() / 1000 / (CURSOR_SECONDS / 2))}`
}

/** https://www.w3.org/TR/server-timing/: names are tokens. */
const serverTiming = (outcomes: readonly Outcome[]): string =>
  joinWithin(
    MAX_SERVER_TIMING,
    outcomes.map(({ source, elapsedMs }) => timing(source.name, elapsedMs)),
    (left) =>
      timing(`and ${left} more`, Math.max(...outcomes.slice(-left).map(({ elapsedMs }) => elapsedMs))),
  )

const timing = (name: string, elapsedMs: number): string =>
  `${name.replace(/[^\w-]/g, '-')};dur=${elapsedMs.toFixed(1)}`
