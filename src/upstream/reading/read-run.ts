import type { Clock } from '../../domain/clock.ts'
import type { ListingQuery } from '../../domain/query.ts'
import type { Range } from '../../domain/source/reading.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import type { FetchPage, PageRequest } from '../page/fetch-page.ts'
import type { PageItem } from '../page/listing-page.ts'
import { type ListingPage, MAX_PAGE_ITEMS } from '../page/listing-page.ts'
import { Run, type RunUpstream } from './run.ts'

/** Overlap of two pages: so many listings may be deleted between two requests without harm. */
export const OVERLAP = 10
/** Smaller pages are refused while more listings follow. */
const MIN_PAGE_ITEMS = 25
/** Requests that may fail to join, or add nothing, before the upstream counts as unstable. */
const MAX_FRUITLESS = 10
/** Pages without new listings before an upstream counts as ignoring `offset`. */
const MAX_REPEATED = 2
/** Pages in a row without new listings, in any case. */
const MAX_CATCHING_UP = 200
/** Listings with one position, whose order is the upstream's own. */
const MAX_TIE = 2000
const MAX_LOOKAHEAD = 8

export type ReadRunOptions = {
  upstream: RunUpstream
  fetch: FetchPage
  clock: Clock
  /** Ends the run before its next request. */
  signal?: AbortSignal
  /** Called after every page; throws to give the run up. */
  check?: (run: Run) => void
}

/**
 * Reads current pages, never cached ones. A page that does not join is requested again from further back. An
 * unsorted upstream is read whole, up to `scanLimit`. Pages that are too large are split; a single listing
 * that is too large, or that makes a Registry answer 500, is skipped.
 * @throws SourceError `unstable` | `unsorted` | `bad_envelope` | `scan_limit`, or the rejection of `fetch`
 */
export function readRun(
  options: ReadRunOptions,
  query: ListingQuery,
  range: Range,
  base?: Run,
): Promise<Run> {
  return new RunReader(options, query, range, base).read()
}

class RunReader {
  readonly #options: ReadRunOptions
  readonly #query: ListingQuery
  readonly #range: Range
  readonly #isReadOn: boolean
  #run: Run
  /** Halved after pages that are too large, doubled after others. */
  #maxLimit = MAX_PAGE_ITEMS
  /** Whether the latest page has as many listings as were asked for. */
  #isFull = false
  #received = 0
  #fruitless = 0
  /** Pages in a row without new listings. */
  #repeated = 0
  #furthest: number
  /** Whether it has begun again from the top after a 400. */
  #wasRefused = false
  #lookahead = new Map<number, Promise<ListingPage>>()
  /** Offsets that were just skipped, without `to`: the next page cannot overlap them. */
  #skipped: { from: number; to: number } | null = null

  constructor(options: ReadRunOptions, query: ListingQuery, range: Range, base: Run | undefined) {
    this.#options = options
    this.#query = query
    this.#range = range
    this.#isReadOn = base !== undefined
    this.#run = base ?? this.#start(range.after)
    this.#furthest = this.#run.end
  }

  async read(): Promise<Run> {
    let request = this.#isReadOn ? null : this.#firstRequest()
    while (!this.#isDone()) {
      this.#options.signal?.throwIfAborted()
      const page = await this.#fetch(request)
      request = page === null ? null : await this.#take(page)
    }
    return this.#run
  }

  #start(after: Range['after']): Run {
    const { upstream, clock } = this.#options
    return new Run(upstream, after, clock.now())
  }

  #isDone(): boolean {
    return this.#run.isEnded || (this.#run.isSorted && this.#run.covers(this.#range))
  }

  /** Overlaps what precedes the range. A small source is read from the top, which makes its run whole. */
  #firstRequest(): PageRequest {
    const { after, offsetHint, count, resume } = this.#range
    if (after === null) return { offset: 0, limit: this.#limit(count) }
    if (resume !== undefined) return { offset: offsetHint, limit: this.#limit(count + OVERLAP), resume }
    if (offsetHint <= MAX_PAGE_ITEMS / 2) return { offset: 0, limit: this.#maxLimit }
    return { offset: offsetHint - OVERLAP, limit: this.#limit(count + OVERLAP) }
  }

  #requestAtEnd(): PageRequest {
    const { end } = this.#run
    if (this.#cursor !== undefined)
      return { offset: end, limit: this.#limit(this.#wanted()), resume: this.#cursor }
    const overlap = this.#overlap()
    return { offset: Math.max(0, end - overlap), limit: this.#limit(this.#wanted() + overlap) }
  }

  /** Reaches back to readable listings, and leaves room for new ones. */
  #overlap(): number {
    const { unreadableAtEnd } = this.#run
    return Math.min(unreadableAtEnd + Math.min(OVERLAP, this.#maxLimit >> 1), this.#maxLimit - 1)
  }

  #wanted(): number {
    const { count } = this.#range
    if (!this.#run.isSorted) return Number.POSITIVE_INFINITY
    return Math.max(1, count - this.#run.select(this.#range).listings.length)
  }

  /** Rounded up, so that similar pages are shared; one more listing shows where a tie ends. */
  #limit(wanted: number): number {
    if (this.#isReadOn) return this.#maxLimit
    const size = PAGE_SIZES.find((size) => wanted <= size + OVERLAP)
    const limit = size === undefined ? MAX_PAGE_ITEMS : Math.max(size, wanted) + 1
    return Math.min(limit, this.#maxLimit)
  }

  /** @returns the next request; `null` to read on at the end */
  async #take(page: ListingPage): Promise<PageRequest | null> {
    const { name } = this.#options.upstream
    if (!(await this.#isJoint(page))) {
      if (this.#fruitless >= MAX_FRUITLESS)
        throw new SourceError('unstable', `${name}: changes faster than it can be read`)
      return this.#stepBack(page)
    }
    const run = this.#run
    const isNew = run.add(page)
    const isEnd = this.#isLast(page, isNew)
    this.#received += page.received
    this.#skipped = null
    if (!isNew && !isEnd) this.#countRepeated(page)
    if (isNew) this.#fruitless = this.#repeated = 0
    this.#furthest = Math.max(this.#furthest, run.end)
    run.isEnded = isEnd
    this.#options.check?.(run)
    this.#checkLimits(page)
    if (!run.isSorted && run.after !== null) return this.#restart()
    this.#requestLookahead()
    return null
  }

  /** A gateway's total counts copies. A Registry may have counted before more was published, so a full page may not be the last. */
  #isLast({ isGateway, nextCursor, offset, received, total }: ListingPage, isNew: boolean): boolean {
    if (isGateway) return nextCursor === undefined
    return offset + received >= total && !(isNew && this.#isFull)
  }

  /** Normal after a step back and after a split, whose listings may have moved. */
  #countRepeated({ received, about: { offset, resume } }: ListingPage): void {
    const isReread = offset + received <= this.#furthest || this.#maxLimit < MAX_PAGE_ITEMS
    const isCatchingUp = resume === undefined && received > 0 && isReread
    if (!isCatchingUp) this.#fruitless++
    if (++this.#repeated > MAX_CATCHING_UP || (!isCatchingUp && this.#fruitless > MAX_REPEATED))
      throw this.#run.broken('repeats its pages')
  }

  #checkLimits({ total }: ListingPage): void {
    const { name, scanLimit } = this.#options.upstream
    const run = this.#run
    const { count } = this.#range
    if (!Number.isFinite(count)) return
    const isAll = run.after === null && run.isEnded
    if (!run.isSorted && !isAll && total > scanLimit)
      throw new SourceError(
        'unsorted',
        `${name}: is not sorted newest first, and ${total} are too many to sort`,
      )
    if (run.isSorted && !run.isEnded && run.tieLength > MAX_TIE)
      throw new SourceError('unsorted', `${name}: has more than ${MAX_TIE} listings of one instant`)
    if (run.excluded === 0 || this.#received <= scanLimit + count) return
    const filters = [...new Set(this.#query.criteria.map(({ filter }) => filter.name))]
    throw new SourceError('scan_limit', `${name}: does not apply what it was sent`, { filters })
  }

  /** From the top: for an unsorted upstream, and after a rejected cursor. */
  #restart(): PageRequest {
    const { isSorted } = this.#run
    this.#run = this.#start(null)
    this.#run.isSorted = isSorted
    this.#lookahead.clear()
    return { offset: 0, limit: this.#maxLimit }
  }

  /** Further with every attempt: deletions moved the rest up. */
  #stepBack(page: ListingPage): PageRequest {
    this.#lookahead.clear()
    const step = Math.max(2 * OVERLAP, page.received) * 2 ** Math.min(this.#fruitless++, 6)
    return { offset: Math.max(0, Math.min(page.offset, page.total) - step), limit: this.#maxLimit }
  }

  /** Of a gateway, behind the last page. */
  get #cursor(): string | undefined {
    return this.#run.pages.at(-1)?.nextCursor
  }

  get #lastRead(): PageItem | undefined {
    return this.#run.pages.at(-1)?.items.at(-1)
  }

  /** `null` for any failure. */
  #fetchSingle(offset: number): Promise<ListingPage | null> {
    return this.#options.fetch(this.#query, { offset, limit: 1 }).catch(() => null)
  }

  async #isJoint(page: ListingPage): Promise<boolean> {
    const skipped = this.#skipped?.to === page.offset ? this.#skipped : null
    return skipped === null ? this.#run.isJoint(page) : this.#followsSkipped(skipped, page)
  }

  /** Whether skipped listings, and the last one before them, are still in place. */
  async #followsSkipped(
    { from, to }: { from: number; to: number },
    { total }: ListingPage,
  ): Promise<boolean> {
    for (let offset = from; offset < to; offset++)
      if ((await this.#fetchSingle(offset)) !== null) return false
    if (from === 0) return true
    const last = this.#lastRead
    const now = await this.#fetchSingle(last?.offset ?? from - 1)
    const [item] = now?.items ?? []
    const isInPlace =
      last === undefined || (item?.listingId === last.listingId && item.position === last.position)
    return now?.total === total && isInPlace
  }

  /** Default: reads on at the end. `null` where a single listing was skipped. */
  async #fetch(fixed: PageRequest | null): Promise<ListingPage | null> {
    for (let isSplit = false; ; isSplit = true) {
      const { offset, limit: wanted, resume } = fixed ?? this.#requestAtEnd()
      const limit = Math.min(wanted, this.#maxLimit)
      const request = { offset, limit, resume }
      try {
        const page = await this.#fetchOnce(request)
        this.#refuseShort(page, limit)
        this.#isFull = page.received >= limit
        this.#maxLimit = Math.min(MAX_PAGE_ITEMS, this.#maxLimit * 2)
        return page
      } catch (error) {
        if (!this.#wasRefused && this.#isTooFar(request, error)) {
          this.#wasRefused = true
          return this.#fetch(this.#restart())
        }
        if (!isSplit && !(await this.#canSplit(error, request))) throw error
        if (isSplit && !isOfOneListing(error, request)) throw error
        this.#lookahead.clear()
        if (limit === 1 && resume !== undefined) throw error
        if (limit === 1) return this.#skip(offset, error)
        this.#maxLimit = Math.ceil(limit / 2)
      }
    }
  }

  /** A gateway refuses expired cursors and far offsets. */
  #isTooFar({ offset }: PageRequest, error: unknown): boolean {
    const isRefused = error instanceof SourceError && error.reason === 'http_400'
    return isRefused && offset > 0 && this.#options.upstream.kind === 'gateway'
  }

  #fetchOnce(request: PageRequest): Promise<ListingPage> {
    const lookahead = request.resume === undefined ? this.#lookahead.get(request.offset) : undefined
    this.#lookahead.delete(request.offset)
    return lookahead ?? this.#options.fetch(this.#query, request)
  }

  /** A gateway's total includes listings that it cannot show. */
  #refuseShort({ received, total, offset, isGateway }: ListingPage, limit: number): void {
    if (!isGateway && received < Math.min(limit, MIN_PAGE_ITEMS, total - offset))
      throw this.#run.broken('sends less than it says it has')
  }

  #skip(offset: number, error: unknown): null {
    const from = this.#skipped?.to === offset ? this.#skipped.from : offset
    this.#skipped = { from, to: offset + 1 }
    this.#run.skip(offset)
    if (this.#run.invalid > MAX_SKIPPED) throw error
    return null
  }

  /**
   * Whether the page is too large, or one of its listings makes a deployed Registry answer 500. Requests for
   * single listings distinguish that from an outage.
   */
  async #canSplit(error: unknown, { offset, limit, resume }: PageRequest): Promise<boolean> {
    if (!isOfOneListing(error, { limit }) || this.#query.listingId !== undefined) return false
    if (error.reason === 'too_large' && resume !== undefined) return true
    const { kind } = this.#options.upstream
    const mayFailForOne = kind === 'registry' && resume === undefined && this.#query.filters.length === 0
    if (error.reason === 'http_500' && !mayFailForOne) return false
    if (this.#skipped !== null) return true
    const known = this.#lastRead
    const [first, second] = known === undefined ? [offset, offset + limit] : [known.offset, 0]
    return (await this.#fetchSingle(first)) !== null || (await this.#fetchSingle(second)) !== null
  }

  #requestLookahead(): void {
    const run = this.#run
    const wanted = this.#wanted()
    const isLong = wanted > MAX_PAGE_ITEMS && !run.isEnded && this.#cursor === undefined
    if (!isLong || this.#maxLimit < MAX_PAGE_ITEMS || run.pages.at(-1)!.received < MAX_PAGE_ITEMS) return
    const total = run.pages.at(-1)?.total ?? 0
    const stride = MAX_PAGE_ITEMS - OVERLAP
    for (let n = 0; n < MAX_LOOKAHEAD && n * stride < wanted; n++) {
      const offset = run.end - OVERLAP + n * stride
      if (offset + OVERLAP >= total || this.#lookahead.has(offset)) continue
      const page = this.#options.fetch(this.#query, { offset, limit: MAX_PAGE_ITEMS })
      page.catch(() => {}) // awaited later, or not needed
      this.#lookahead.set(offset, page)
    }
  }
}

const PAGE_SIZES = [50, 100, 200 - OVERLAP - 1]
const MAX_SKIPPED = 1000

/** Whether one listing may be the cause. A small page may hold only unreadable listings. */
function isOfOneListing(error: unknown, { limit }: Pick<PageRequest, 'limit'>): error is SourceError {
  if (!(error instanceof SourceError)) return false
  const { reason } = error
  return (
    reason === 'too_large' || reason === 'http_500' || (reason === 'bad_envelope' && limit < MIN_PAGE_ITEMS)
  )
}
