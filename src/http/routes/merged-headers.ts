import { type BareItem, serializeList, Token } from 'structured-headers'
import type { Caller } from '../../domain/api-key.ts'
import type { Clock } from '../../domain/clock.ts'
import { remembered } from '../../domain/remembered.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import type { Outcome } from '../../gateway/asking.ts'
import type { Page } from '../../gateway/market.ts'
import { CURSOR_SECONDS } from '../../gateway/pages/cursor.ts'
import type { MergedLookup } from '../../gateway/pages/find-listing.ts'
import type { MergedPage } from '../../gateway/pages/page.ts'
import { renderItem } from '../../gateway/pages/render.ts'
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
  { gatewayId, clock }: MergedHeaderOptions,
): Record<string, string> => ({
  'Cache-Control': 'no-store',
  'Cache-Status': cacheStatus(outcomes, clock.monotonic()),
  Vary: 'Accept, Authorization, CDN-Loop',
  Via: `1.1 ${gatewayId}`,
})

/** Readers without a key all see the same. */
const audience = (caller: Caller): string => (caller.kind === 'anonymous' ? 'public' : 'private')

function maxAge(outcomes: readonly Outcome[], { freshSeconds, clock }: MergedHeaderOptions): number {
  const now = clock.monotonic()
  const remaining = outcomes.map(({ answer }) => ttlSeconds(answer, now) ?? Number.POSITIVE_INFINITY)
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
    sourcesCounted,
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
  const states = sources.map((source) => ({ ...source, age_seconds: undefined, elapsed_ms: undefined }))
  // After half a cursor's life, readers get a new one.
  const cursorPeriod = Math.floor(clock.now() / 1000 / (CURSOR_SECONDS / 2))
  const near = nearMisses?.map(({ differs, merged }) => [differs, renderItem(merged).toString()])
  const beside = [unplaced, suggestions, near, hasPrivate, warnings]
  const rest = [
    total,
    complete,
    states,
    sourcesCounted?.loaded,
    nextCursor === undefined ? null : cursorPeriod,
    beside,
  ]
  return contentTag(rows, JSON.stringify(rest))
}

/** https://www.w3.org/TR/server-timing/: names are tokens. */
const serverTiming = (outcomes: readonly Outcome[]): string =>
  joinUpTo(
    MAX_SERVER_TIMING,
    outcomes,
    ({ source, elapsedMs }) => timing(source.name, elapsedMs),
    (left) =>
      timing(`and ${left} more`, Math.max(...outcomes.slice(-left).map(({ elapsedMs }) => elapsedMs))),
  )

const timing = (name: string, elapsedMs: number): string =>
  `${name.replace(/[^\w-]/g, '-')};dur=${elapsedMs.toFixed(1)}`

/** `null`: until the source changes. */
function ttlSeconds(answer: Outcome['answer'], now: number): number | null {
  if (answer instanceof SourceError || answer.freshUntil === undefined) return null
  return Math.round((answer.freshUntil - now) / 1000)
}

/** `Cache-Status` (RFC 9211), one member a source; those beyond the limit share one. */
const cacheStatus = (outcomes: readonly Outcome[], now: number): string =>
  joinUpTo(
    MAX_CACHE_STATUS,
    outcomes,
    (outcome) => memberText(outcome, now),
    (left) => serializeList([[`and ${left} more`, new Map()]]),
  )

/** A text of all that `member` reads finds the one from before: in memory, sources change once a second. */
function memberText({ source, answer }: Outcome, now: number): string {
  const ttl = ttlSeconds(answer, now)
  const isFailure = answer instanceof SourceError
  const state = isFailure ? `failed ${answer.reason}` : `${answer.stale ? 'stale' : 'hit'} ${ttl}`
  const parameters = () => (isFailure ? failureParameters(answer) : heldParameters(answer.stale, ttl))
  return remembered(MEMBERS, `${source.name}\n${state}`, () =>
    serializeList([[identifier(source.name), new Map(parameters())]]),
  )
}

const MEMBERS = new Map<string, string>()

type Parameter = [name: string, value: BareItem]

function heldParameters(isStale: boolean, ttl: number | null): Parameter[] {
  const ends: Parameter[] = ttl === null ? [] : [['ttl', ttl]]
  return isStale
    ? [['fwd', new Token('stale')], ...ends, ['detail', new Token('stale')]]
    : [['hit', true], ...ends]
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
function joinUpTo<One>(
  max: number,
  all: readonly One[],
  memberOf: (one: One) => string,
  summary: (left: number) => string,
): string {
  const members: string[] = []
  let length = 0
  let count = 0
  for (const one of all) {
    const member = memberOf(one)
    length += member.length + (members.length === 0 ? 0 : 2)
    if (length > max) return [...members.slice(0, count), summary(all.length - count)].join(', ')
    members.push(member)
    if (length + 2 + SUMMARY_LENGTH <= max) count = members.length
  }
  return members.join(', ')
}
