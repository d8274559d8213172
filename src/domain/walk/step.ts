import { SourceError } from '../source/source-error.ts'
import {
  beginWalk,
  MAX_PAGE_ITEMS,
  MIN_PAGE_ITEMS,
  nextRequest,
  type OutageProbe,
  OVERLAP,
  type PageRequest,
  type SkipProbe,
  type Walk,
  type WalkPage,
  type WalkRules,
} from './walk.ts'

/** Pages by offset without a new listing, before the upstream counts as ignoring offset. */
const MAX_REPEATED = 2
/** Pages in a row that neither join nor add a listing, before the upstream counts as unstable. */
const MAX_FRUITLESS = 10
/** Pages in a row without new listings, in any case. */
const MAX_CATCHING_UP = 200
const MAX_SKIPPED = 1000

/** `request`: the one that was answered, whose limit may be lower than that of the step before. */
export type WalkEvent<Page> = { request: PageRequest } & ({ page: Page } | { error: SourceError })

type Step<Page extends WalkPage> = {
  walk: Walk<Page>
  next: PageRequest | 'done' | SourceError
  /** Joins the pages before it. */
  accepted?: Page
  /** Offset of a listing that cannot be read. */
  skipped?: number
  /** The pages before do not count any more. */
  isRestart?: boolean
}

/**
 * Judges the answer to the latest request. A page that does not join is requested again from further back. Pages that are too large are divided; a single listing that is too large, or that
 * makes a Registry answer 500, is skipped.
 */
export function step<Page extends WalkPage>(walk: Walk<Page>, event: WalkEvent<Page>): Step<Page> {
  if (walk.probe?.kind === 'outage') return afterOutageProbe(walk, walk.probe, event)
  if (walk.probe?.kind === 'skipped') return afterSkipProbe(walk, walk.probe, event)
  if ('error' in event) return afterFailure(walk, event.request, event.error)
  return afterPage(walk, event.request, event.page)
}

function goOn<Page extends WalkPage>(walk: Walk<Page>): Step<Page> {
  return { walk, next: nextRequest(walk) }
}

function afterPage<Page extends WalkPage>(walk: Walk<Page>, request: PageRequest, page: Page): Step<Page> {
  const { received, total, offset, isGateway } = page
  // A gateway's total includes listings that it cannot show.
  if (!isGateway && received < Math.min(request.limit, walk.rules.minPageItems, total - offset))
    return afterFailure(walk, request, broken(walk, 'sends less than it says it has'))
  const maxLimit = Math.min(MAX_PAGE_ITEMS, walk.maxLimit * 2)
  const after = { ...walk, maxLimit, isDividing: false }
  if (walk.skipped?.to === offset) return probeSkipped(after, walk.skipped, { request, page })
  return page.isJoint ? accept(after, request, page) : stepBack(after, page)
}

function accept<Page extends WalkPage>(walk: Walk<Page>, request: PageRequest, page: Page): Step<Page> {
  const isNew = page.added > 0
  const end = page.offset + page.received
  const after: Walk<Page> = {
    ...walk,
    end,
    cursor: page.nextCursor,
    pageSize: page.received < request.limit ? page.received : MAX_PAGE_ITEMS,
    unreadableAtEnd: page.unreadableAtEnd ?? 0,
    lastOffset: page.lastOffset,
    skipped: null,
    isSorted: walk.isSorted && page.isSorted,
    firstTotal: walk.firstTotal ?? page.total,
    hasMoved: walk.hasMoved || page.hasMoved,
    furthest: Math.max(walk.furthest, end),
    // What is new on a page that is read again is no progress.
    fruitless: isNew && end > walk.furthest ? 0 : walk.fruitless,
    repeated: isNew ? 0 : walk.repeated,
  }
  const isEnd = isLast(request, page)
  const result = isEnd
    ? afterLast(after, page)
    : afterJoint(after, { request, page, furthest: walk.furthest })
  return { ...result, accepted: page }
}

/** A Registry may have counted before more was published, so a full page may not be the last; one of listings seen before is. */
function isLast(
  { limit }: PageRequest,
  { isGateway, nextCursor, offset, received, total, added }: WalkPage,
): boolean {
  if (isGateway) return nextCursor === undefined
  return offset + received >= total && (added === 0 || received < limit)
}

/** Reads once more where listings are missing that the upstream has: a gateway's total counts copies. */
function afterLast<Page extends WalkPage>(walk: Walk<Page>, page: Page): Step<Page> {
  const { firstTotal, hasMoved, wasShort } = walk
  const isUnmoved = firstTotal === page.total && !hasMoved
  const isShort = page.counted < page.total && (page.added === 0 || isUnmoved)
  if (page.isGateway || !isShort) return { walk, next: 'done' }
  if (!wasShort) return restart({ ...walk, wasShort: true })
  return { walk, next: unstable(walk, 'sends fewer listings than its total, or ignores offset') }
}

/** @param answer `furthest` is that of the pages before */
function afterJoint<Page extends WalkPage>(
  walk: Walk<Page>,
  { request, page, furthest }: { request: PageRequest; page: Page; furthest: number },
): Step<Page> {
  if (page.added > 0) return goOn(walk)
  // Normal after a step back and a division, whose listings may have moved.
  const isReread = walk.end <= furthest || walk.maxLimit < MAX_PAGE_ITEMS
  const isCatchingUp = request.resume === undefined && page.received > 0 && isReread
  const repeated = walk.repeated + 1
  const fruitless = walk.fruitless + (isCatchingUp ? 0 : 1)
  const maxRepeated = request.resume === undefined ? MAX_REPEATED : walk.rules.maxRepeatedByCursor
  if (repeated > MAX_CATCHING_UP || (!isCatchingUp && fruitless > maxRepeated))
    return { walk, next: broken(walk, `more than ${maxRepeated} pages in a row had no new listing`) }
  return goOn({ ...walk, repeated, fruitless })
}

/** Further with every attempt: deletions moved the rest up. */
function stepBack<Page extends WalkPage>(walk: Walk<Page>, page: Page): Step<Page> {
  const { fruitless, maxLimit } = walk
  if (fruitless >= MAX_FRUITLESS) return { walk, next: unstable(walk, 'changes faster than it can be read') }
  const distance = Math.max(2 * OVERLAP, page.received) * 2 ** Math.min(fruitless, 6)
  const offset = Math.max(0, Math.min(page.offset, page.total) - distance)
  const end = offset === 0 ? 0 : offset + Math.min(OVERLAP, maxLimit >> 1)
  return goOn({ ...walk, end, unreadableAtEnd: 0, skipped: null, fruitless: fruitless + 1 })
}

function restart<Page extends WalkPage>(walk: Walk<Page>): Step<Page> {
  const { rules, lastOffset, maxLimit, isSorted, fruitless, repeated, wasRefused, wasShort, skips } = walk
  const top = beginWalk<Page>(rules)
  const kept = { lastOffset, maxLimit, isSorted, fruitless, repeated, wasRefused, wasShort, skips }
  return { ...goOn({ ...top, ...kept }), isRestart: true }
}

function afterFailure<Page extends WalkPage>(
  walk: Walk<Page>,
  request: PageRequest,
  error: SourceError,
): Step<Page> {
  const { rules, isDividing, wasRefused, skipped, lastOffset } = walk
  const { offset, limit, resume } = request
  // A gateway refuses expired cursors and far offsets.
  if (error.reason === 'http_400' && rules.isGateway && offset > 0 && !wasRefused)
    return restart({ ...walk, wasRefused: true })
  if (!isDivisible(rules, request, error)) return { walk, next: error }
  if (resume !== undefined)
    return error.reason === 'too_large' ? divide(walk, request, error) : { walk, next: error }
  if (isDividing || skipped !== null) return divide(walk, request, error)
  const offsets = lastOffset === undefined ? [offset, offset + limit] : [lastOffset, 0]
  return goOn({ ...walk, probe: { kind: 'outage', offsets, request, error } })
}

function isDivisible(rules: WalkRules, { limit }: PageRequest, { reason, traits }: SourceError): boolean {
  const { splitsPage } = traits
  if (!rules.mayDivide || (reason === 'http_500' && !rules.mayDivide500)) return false
  return splitsPage === 'any' || (splitsPage === 'small' && limit < MIN_PAGE_ITEMS)
}

/** One listing that can be read shows that the upstream is there, so that another one on the page is the cause. */
function afterOutageProbe<Page extends WalkPage>(
  walk: Walk<Page>,
  probe: OutageProbe,
  event: WalkEvent<Page>,
): Step<Page> {
  const after = { ...walk, probe: null }
  if ('page' in event) return divide(after, probe.request, probe.error)
  const offsets = probe.offsets.slice(1)
  if (offsets.length === 0) return { walk: after, next: probe.error }
  return goOn({ ...walk, probe: { ...probe, offsets } })
}

function divide<Page extends WalkPage>(
  walk: Walk<Page>,
  { offset, limit, resume }: PageRequest,
  error: SourceError,
): Step<Page> {
  if (limit > 1) return goOn({ ...walk, maxLimit: Math.ceil(limit / 2), isDividing: true })
  if (resume !== undefined || walk.skips >= MAX_SKIPPED) return { walk, next: error }
  const to = offset + 1
  const from = walk.skipped?.to === offset ? walk.skipped.from : offset
  const unreadableAtEnd = walk.unreadableAtEnd + 1
  const skips = walk.skips + 1
  const after = { ...walk, skipped: { from, to }, end: to, unreadableAtEnd, skips, isDividing: false }
  return { ...goOn(after), skipped: offset }
}

/** A page behind skipped listings cannot overlap them, so they are asked for again one by one. */
function probeSkipped<Page extends WalkPage>(
  walk: Walk<Page>,
  { from, to }: { from: number; to: number },
  answer: { request: PageRequest; page: Page },
): Step<Page> {
  const offsets = Array.from({ length: to - from }, (_, n) => from + n)
  if (from > 0) offsets.push(walk.lastOffset ?? from - 1)
  return goOn({ ...walk, probe: { kind: 'skipped', offsets, ...answer } })
}

function afterSkipProbe<Page extends WalkPage>(
  walk: Walk<Page>,
  probe: SkipProbe<Page>,
  event: WalkEvent<Page>,
): Step<Page> {
  const after = { ...walk, probe: null }
  const offsets = probe.offsets.slice(1)
  const isLast = offsets.length === 0 && walk.skipped!.from > 0
  const isInPlace = isLast ? isLastInPlace(walk, probe, event) : 'error' in event
  if (!isInPlace) return stepBack(after, probe.page)
  return offsets.length > 0
    ? goOn({ ...walk, probe: { ...probe, offsets } })
    : accept(after, probe.request, probe.page)
}

function isLastInPlace<Page extends WalkPage>(
  { lastOffset }: Walk<Page>,
  { page }: SkipProbe<Page>,
  event: WalkEvent<Page>,
): boolean {
  if ('error' in event || event.page.total !== page.total) return false
  return lastOffset === undefined || event.page.repeatsLast === true
}

function broken({ rules }: Walk<WalkPage>, what: string): SourceError {
  return new SourceError('bad_envelope', `${rules.name}: ${what}`)
}

function unstable({ rules }: Walk<WalkPage>, what: string): SourceError {
  return new SourceError('unstable', `${rules.name}: ${what}`)
}
