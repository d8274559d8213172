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
  /** Longest time for which an answer counts as fresh. */
  freshSeconds: number
  /** Names the key that cursors are sealed with. */
  cursorKeyId: string
  clock: Clock
}

/**
 * `Cache-Status` and `Server-Timing` together stay below 4 KiB, however many sources there are: proxies refuse long
 * headers, and clients of Node more than 16 KiB of them.
 */
const MAX_CACHE_STATUS = 2400
const MAX_SERVER_TIMING = 1600

/**
 * Headers of a merged answer (docs/contract.md#4-headers), about sources that the reader may see.
 * @param rows its items as they are sent
 */
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

/** The same of a single listing, from the sources that were asked until it was found. */
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

/** The same of an answer that is sent while it is still made: what it will be, its last line says. */
export const streamHeaders = (
  outcomes: readonly Outcome[],
  { gatewayId }: Pick<MergedHeaderOptions, 'gatewayId'>,
): Record<string, string> => ({
  'Cache-Control': 'no-store',
  'Cache-Status': cacheStatus(outcomes, MAX_CACHE_STATUS),
  Vary: MERGED_VARY,
  Via: `1.1 ${gatewayId}`,
})

/** What else than its URL a merged answer depends on. */
const MERGED_VARY = 'Accept, Authorization'

/** Whoever asks without a key sees what anybody would. */
const audience = (reader: Reader): string => (reader.kind === 'anonymous' ? 'public' : 'private')

/** As long as everything that it was made of stays fresh. */
const maxAge = (outcomes: readonly Outcome[], freshSeconds: number): number => {
  const remaining = outcomes.flatMap(({ result }) =>
    result instanceof SourceError || result.cache === undefined ? [] : [result.cache.ttlSeconds],
  )
  return Math.max(0, Math.floor(Math.min(freshSeconds, ...remaining)))
}

type CursorOptions = Pick<MergedHeaderOptions, 'cursorKeyId' | 'clock'>

/** Equal for answers with equal contents: elapsed times and ages are left out, and so are the bytes of a cursor. */
const fingerprint = (
  { total, complete, sources, nextCursor }: MergedPage,
  rows: Uint8Array,
  cursors: CursorOptions,
): string => {
  const states = sources.map(({ age_seconds, elapsed_ms, ...state }) => state)
  const rest = [total, complete, states, nextCursor === undefined ? null : cursorPeriod(cursors)]
  const hash = createHash('sha256').update(rows).update(JSON.stringify(rest))
  return hash.digest('base64url').slice(0, 27)
}

/** Changes when a reader should get a new cursor: after half its life, and with the key that seals it. */
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
