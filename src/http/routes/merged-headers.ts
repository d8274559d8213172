import { type BareItem, type Item, serializeList, Token } from 'structured-headers'
import type { Caller } from '../../domain/api-key.ts'
import type { Clock } from '../../domain/clock.ts'
import { remembered } from '../../domain/remembered.ts'
import type { CacheDecision } from '../../domain/source/freshness.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import { CURSOR_SECONDS } from '../../gateway/cursor.ts'
import { renderItem } from '../../gateway/envelope.ts'
import type { MergedLookup } from '../../gateway/find-listing.ts'
import type { Page } from '../../gateway/market.ts'
import type { MergedPage } from '../../gateway/pages.ts'
import type { Outcome } from '../../gateway/sources.ts'
import type { ContentTag } from '../etag.ts'

export type MergedHeaderOptions = {
  gatewayId: string
  /** Longest `max-age`. */
  freshSeconds: number
  contentTag: ContentTag
  clock: Clock
}

/** Together below 4 KiB: proxies refuse long headers, and Node's clients more than 16 KiB. */
const MAX_CACHE_STATUS = 2400
const MAX_SERVER_TIMING = 1600

/** docs/contract.md#4-headers, about visible sources. `rows`: the items as sent. */
export const mergedHeaders = (
  page: Fingerprinted,
  rows: Uint8Array,
  caller: Caller,
  options: MergedHeaderOptions,
): Record<string, string> => ({
  ...oneListingHeaders(page, caller, options),
  ETag: `W/"${fingerprint(page, rows, options)}"`,
})

export const oneListingHeaders = (
  { outcomes, complete }: Pick<MergedLookup, 'outcomes' | 'complete'>,
  caller: Caller,
  options: MergedHeaderOptions,
): Record<string, string> => ({
  ...streamHeaders(outcomes, options),
  ...(complete && { 'Cache-Control': `${audience(caller)}, max-age=${maxAge(outcomes, options)}` }),
  'Server-Timing': serverTiming(outcomes),
})

/** Completeness is not known yet: the last line of the stream reports it. */
export const streamHeaders = (
  outcomes: readonly Outcome[],
  { gatewayId }: MergedHeaderOptions,
): Record<string, string> => ({
  'Cache-Control': 'no-store',
  'Cache-Status': cacheStatus(outcomes),
  Vary: 'Accept, Authorization, CDN-Loop',
  Via: `1.1 ${gatewayId}`,
})

/** Readers without a key all see the same. */
const audience = (caller: Caller): string => (caller.kind === 'anonymous' ? 'public' : 'private')

function maxAge(outcomes: readonly Outcome[], { freshSeconds }: MergedHeaderOptions): number {
  const remaining = outcomes.flatMap(({ result }) =>
    result instanceof SourceError || result.cache === undefined ? [] : [result.cache.ttlSeconds],
  )
  return Math.max(0, Math.floor(Math.min(freshSeconds, ...remaining)))
}

/** What an answer says beside its items. */
type Beside = Partial<Omit<Page, keyof MergedPage>>

type Fingerprinted = Omit<MergedPage, 'items'> & Beside

/** Equal for equal contents: ignores elapsed times, ages and the bytes of a cursor. */
function fingerprint(
  {
    total,
    complete,
    sources,
    nextCursor,
    unplaced,
    suggestions,
    nearMisses,
    hasPrivate,
    warnings,
  }: Fingerprinted,
  rows: Uint8Array,
  { contentTag, clock }: MergedHeaderOptions,
): string {
  const states = sources.map(({ age_seconds, elapsed_ms, ...state }) => state)
  // After half a cursor's life, readers get a new one.
  const cursorPeriod = Math.floor(clock.now() / 1000 / (CURSOR_SECONDS / 2))
  const near = nearMisses?.map(({ differs, merged }) => [differs, renderItem(merged).toString()])
  const beside = [unplaced, suggestions, near, hasPrivate, warnings]
  const rest = [total, complete, states, nextCursor === undefined ? null : cursorPeriod, beside]
  return contentTag(rows, JSON.stringify(rest))
}

/** https://www.w3.org/TR/server-timing/: names are tokens. */
const serverTiming = (outcomes: readonly Outcome[]): string =>
  joinUpTo(
    MAX_SERVER_TIMING,
    outcomes.map(({ source, elapsedMs }) => timing(source.name, elapsedMs)),
    (left) =>
      timing(`and ${left} more`, Math.max(...outcomes.slice(-left).map(({ elapsedMs }) => elapsedMs))),
  )

const timing = (name: string, elapsedMs: number): string =>
  `${name.replace(/[^\w-]/g, '-')};dur=${elapsedMs.toFixed(1)}`

/** `Cache-Status` (RFC 9211), one member a source; those beyond the limit share one. */
const cacheStatus = (outcomes: readonly Outcome[]): string =>
  joinUpTo(MAX_CACHE_STATUS, outcomes.map(memberText), (left) =>
    serializeList([[`and ${left} more`, new Map()]]),
  )

/** A text of all that `member` reads finds the one from before: in memory, sources change once a second. */
function memberText(outcome: Outcome): string {
  const { source, result } = outcome
  const state =
    result instanceof SourceError
      ? `failed ${result.reason}`
      : result.cache === undefined
        ? source.mode
        : `${result.cache.outcome} ${Math.trunc(result.cache.ttlSeconds)} ${result.cache.ttlSeconds > 0}`
  return remembered(MEMBERS, `${source.name}\n${state}`, () => serializeList([member(outcome)]))
}

const MEMBERS = new Map<string, string>()

function member({ source, result }: Outcome): Item {
  const parameters =
    result instanceof SourceError
      ? failureParameters(result)
      : result.cache === undefined
        ? uncachedParameters(source.mode)
        : cacheParameters(result.cache)
  return [identifier(source.name), new Map(parameters)]
}

type Parameter = [name: string, value: BareItem]

/** Local and snapshot answers count as hits; a live source without a cache is always requested. */
const uncachedParameters = (mode: Outcome['source']['mode']): Parameter[] =>
  mode === 'live' ? [['fwd', new Token('bypass')]] : [['hit', true]]

function cacheParameters({ outcome, ttlSeconds }: CacheDecision): Parameter[] {
  const ttl: Parameter = ['ttl', Math.trunc(ttlSeconds)]
  switch (outcome) {
    case 'hit':
      return [['hit', true], ttl]
    case 'revalidating':
      return [['hit', true], ttl, ['detail', new Token('revalidating')]]
    case 'stale':
      return [['fwd', new Token('stale')], ttl, ['detail', new Token('stale')]]
    case 'miss':
      return ttlSeconds > 0
        ? [['fwd', new Token('miss')], ['stored', true], ttl]
        : [['fwd', new Token('miss')]]
  }
}

function failureParameters({ reason }: SourceError): Parameter[] {
  const status = /^http_(\d{3})$/.exec(reason)?.[1]
  return [
    ['fwd', new Token('miss')],
    ...(status === undefined ? [] : [['fwd-status', Number(status)] satisfies Parameter]),
    ['detail', new Token(reason)],
  ]
}

/** A token if possible (RFC 9651 section 3.3.4), else a string without invalid characters. */
const identifier = (name: string): BareItem =>
  /^[A-Za-z*][\w!#$%&'*+.^`|~:/-]*$/.test(name) ? new Token(name) : name.replace(/[^\x20-\x7e]/g, '?')

const SUMMARY_LENGTH = 40

/** Members that fit into `max` (RFC 9110 section 5.6.1), then `summary` (at most 40 characters) if needed. */
function joinUpTo(max: number, members: readonly string[], summary: (left: number) => string): string {
  const all = members.join(', ')
  if (all.length <= max) return all
  let count = 0
  for (let length = SUMMARY_LENGTH; ; count++) {
    length += members[count]!.length + 2
    if (length > max) break
  }
  return [...members.slice(0, count), summary(members.length - count)].join(', ')
}
