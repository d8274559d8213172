import type { Clock } from '../../domain/clock.ts'
import type { ListingQuery } from '../../domain/query.ts'
import type { Range } from '../../domain/reading.ts'
import { SourceError } from '../../domain/source-error.ts'
import type { FetchPage, PageRequest } from '../page/fetch-page.ts'
import { type ListingPage, MAX_PAGE_ITEMS } from '../page/listing-page.ts'
import { Run, type RunUpstream } from './run.ts'

/** Listings that a page has in common with the one before: so many may be deleted between two requests without harm. */
export const OVERLAP = 10
/** An upstream may have smaller pages than it is asked for, but not smaller than this while there is more. */
export const MIN_PAGE_ITEMS = 25
/** Requests that may fail to join, or bring nothing new, before the upstream counts as unstable. */
const MAX_FRUITLESS = 10
/** Pages without anything new before an upstream counts as one that ignores `offset`. */
const MAX_REPEATED = 2
/** Listings of one instant that are read together, since their order is the upstream's own. */
const MAX_TIE = 2000
/** Pages of a long run that are requested ahead of the one that is joined next. */
const MAX_AHEAD = 8

export type ReadRunOptions = {
  upstream: RunUpstream
  fetch: FetchPage
  clock: Clock
  /** Called after every page; throws to give the run up. */
  check?: (run: Run) => void
}

/**
 * Reads a run of listings from a paged upstream: the one function behind first pages, deep offsets, cursors, streams,
 * filters that are evaluated here, and snapshots. Pages are never taken from a cache, so every joint is between pages
 * of now; one that does not join is requested again from further back.
 *
 * An upstream that does not sort newest first is read whole, if it has no more than `scanLimit` listings. A page beyond
 * the byte budget is requested again with half the limit, and a single listing beyond it is skipped as invalid; so is a
 * listing that makes a Registry answer 500.
 * @param base a run that is read on at its end
 * @throws SourceError `unstable` | `unsorted` | `bad_envelope` | `scan_limit`, or what `fetch` rejects with
 */
export function readRun(
  options: ReadRunOptions,
  query: ListingQuery,
  range: Range,
  base: Run | null = null,
): Promise<Run> {
  return new RunReader(options, query, range).read(base)
}

class RunReader {
  readonly #options: ReadRunOptions
  readonly #query: ListingQuery
  #range: Range
  #run: Run
  /** Halved by pages that are too large, doubled by those that are not. */
  #maxLimit = MAX_PAGE_ITEMS
  #isReadOn = false
  #received = 0
  #fruitless = 0
  #cursor: string | undefined
  #ahead = new Map<number, Promise<ListingPage>>()
  /** Offset of a listing that was just skipped: the next page cannot overlap it. */
  #skippedAt: number | null = null

  constructor(options: ReadRunOptions, query: ListingQuery, range: Range) {
    this.#options = options
    this.#query = query
    this.#range = range
    this.#run = this.#start(range.after)
  }

  async read(base: Run | null): Promise<Run> {
    let request = base === null ? this.#firstRequest() : this.#resume(base)
    while (!this.#isDone()) {
      const page = await this.#fetch(request)
      const next = page === null ? null : await this.#take(page)
      request = next ?? this.#nextRequest()
    }
    return this.#run
  }

  #start(after: Range['after']): Run {
    const { upstream, clock } = this.#options
    return new Run(upstream, after, clock.now())
  }

  #resume(base: Run): PageRequest {
    this.#isReadOn = true
    this.#run = base
    this.#cursor = base.pages.at(-1)?.nextCursor
    return this.#nextRequest()
  }

  #isDone(): boolean {
    return this.#run.isEnded || (this.#run.isSorted && this.#run.covers(this.#range))
  }

  /** It overlaps what is before the range. A small source is read from the top, which makes its run whole. */
  #firstRequest(): PageRequest {
    const { after, offsetHint, count, resume } = this.#range
    if (after === null) return { offset: 0, limit: this.#limit(count) }
    if (resume !== undefined) return { offset: offsetHint, limit: this.#limit(count + OVERLAP), resume }
    if (offsetHint <= MAX_PAGE_ITEMS / 2) return { offset: 0, limit: this.#maxLimit }
    return { offset: offsetHint - OVERLAP, limit: this.#limit(count + OVERLAP) }
  }

  /** At the end of the run. */
  #nextRequest(): PageRequest {
    const { end } = this.#run
    if (this.#cursor !== undefined)
      return { offset: end, limit: this.#limit(this.#wanted()), resume: this.#cursor }
    const isAfterSkip = this.#skippedAt !== null && this.#skippedAt === end - 1
    const overlap = isAfterSkip ? 0 : Math.min(OVERLAP, this.#maxLimit >> 1)
    return { offset: Math.max(0, end - overlap), limit: this.#limit(this.#wanted() + overlap) }
  }

  #wanted(): number {
    const { count } = this.#range
    if (!this.#run.isSorted) return Number.POSITIVE_INFINITY
    return Math.max(1, count - this.#run.select(this.#range).listings.length)
  }

  /**
   * Rounded up, so that readers of similar pages share them; one more listing shows where a tie ends. Whoever reads on
   * will probably do so again, and gets whole pages.
   */
  #limit(wanted: number): number {
    if (this.#isReadOn) return this.#maxLimit
    const size = PAGE_SIZES.find((size) => wanted <= size + OVERLAP)
    const limit = size === undefined ? MAX_PAGE_ITEMS : Math.max(size, wanted) + 1
    return Math.min(limit, this.#maxLimit)
  }

  /** @returns the request that has to come next; `null` to read on at the end of the run */
  async #take(page: ListingPage): Promise<PageRequest | null> {
    const { name } = this.#options.upstream
    if (!(await this.#isJoint(page))) {
      if (this.#fruitless >= MAX_FRUITLESS)
        throw new SourceError('unstable', `${name}: changes faster than it can be read`)
      return this.#stepBack(page)
    }
    const run = this.#run
    const isEnd = isLast(page)
    const before = run.end
    const isNew = run.add(page)
    this.#received += page.received
    this.#cursor = page.nextCursor
    this.#skippedAt = null
    if (isNew) this.#fruitless = 0
    else if (!isEnd && page.offset + page.received > before && ++this.#fruitless > MAX_REPEATED)
      throw run.broken('repeats its pages')
    run.isEnded = isEnd
    this.#options.check?.(run)
    this.#checkLimits(page)
    if (!run.isSorted && run.after !== null) return this.#restart()
    this.#requestAhead()
    return null
  }

  #checkLimits({ total }: ListingPage): void {
    const { name, scanLimit } = this.#options.upstream
    const run = this.#run
    const { count } = this.#range
    if (!Number.isFinite(count)) return
    const isWhole = run.after === null && run.isEnded
    if (!run.isSorted && !isWhole && total > scanLimit)
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

  /** From the top: an unsorted upstream has to be read whole, and a rejected cursor leaves no other way. */
  #restart(): PageRequest {
    const { isSorted } = this.#run
    this.#run = this.#start(null)
    this.#run.isSorted = isSorted
    this.#cursor = undefined
    this.#ahead.clear()
    return { offset: 0, limit: this.#maxLimit }
  }

  /** Further with every attempt: what was deleted has moved the rest up. */
  #stepBack(page: ListingPage): PageRequest {
    this.#ahead.clear()
    this.#cursor = undefined
    const step = Math.max(2 * OVERLAP, page.received) * 2 ** Math.min(this.#fruitless++, 6)
    return { offset: Math.max(0, Math.min(page.offset, page.total) - step), limit: this.#maxLimit }
  }

  async #isJoint(page: ListingPage): Promise<boolean> {
    const { offset, received } = page
    const isAfterSkip = this.#skippedAt !== null && this.#skippedAt === offset - 1
    if (received === 0 && offset > 0) return isAfterSkip && this.#run.end === offset
    if (!isAfterSkip || this.#skippedAt === 0) return this.#run.isJoint(page)
    // It begins behind the listing that was skipped: what is before that must not have moved meanwhile.
    const before = await this.#options.fetch(this.#query, { offset: this.#skippedAt! - 1, limit: 1 })
    return this.#run.isJoint(before)
  }

  /** `null` where a single listing cannot be fetched and was skipped. */
  async #fetch(request: PageRequest): Promise<ListingPage | null> {
    for (;;) {
      const limit = Math.min(request.limit, this.#maxLimit)
      try {
        const page = await this.#fetchOnce({ ...request, limit })
        this.#refuseShort(page, limit)
        this.#maxLimit = Math.min(MAX_PAGE_ITEMS, this.#maxLimit * 2)
        return page
      } catch (error) {
        if (request.resume !== undefined && isRejectedCursor(error)) return this.#fetch(this.#restart())
        if (!(await this.#canSplit(error, request))) throw error
        this.#ahead.clear()
        if (limit === 1) return this.#skip(request.offset, error)
        this.#maxLimit = Math.ceil(limit / 2)
      }
    }
  }

  #fetchOnce(request: PageRequest): Promise<ListingPage> {
    const ahead = request.resume === undefined ? this.#ahead.get(request.offset) : undefined
    this.#ahead.delete(request.offset)
    return ahead ?? this.#options.fetch(this.#query, request)
  }

  #refuseShort({ received, total, offset, resume }: ListingPage, limit: number): void {
    if (resume === undefined && received < Math.min(limit, MIN_PAGE_ITEMS, total - offset))
      throw this.#run.broken('sends less than it says it has')
  }

  #skip(offset: number, error: unknown): null {
    this.#skippedAt = offset
    this.#run.skip(offset)
    if (this.#run.invalid > MAX_SKIPPED) throw error
    return null
  }

  /**
   * Whether smaller pages may help: the page is too large, or one of its listings makes a Registry of the deployed
   * protocol answer 500. An upstream that answers 500 to single listings, too, is down.
   */
  async #canSplit(error: unknown, { offset, limit, resume }: PageRequest): Promise<boolean> {
    if (!(error instanceof SourceError)) return false
    if (error.reason === 'too_large') return true
    const { upstream, fetch } = this.#options
    const mayBePoisoned = error.reason === 'http_500' && upstream.kind === 'registry' && resume === undefined
    if (!mayBePoisoned || this.#query.filters.length > 0) return false
    if (this.#maxLimit < limit) return true
    for (const single of [offset, offset + 1]) {
      const isAnswered = await fetch(this.#query, { offset: single, limit: 1 }).then(
        () => true,
        () => false,
      )
      if (isAnswered) return true
    }
    return false
  }

  /** The rest of a long run, some pages at a time. */
  #requestAhead(): void {
    const run = this.#run
    const wanted = this.#wanted()
    const isLong = wanted > MAX_PAGE_ITEMS && !run.isEnded && this.#cursor === undefined
    if (!isLong || this.#maxLimit < MAX_PAGE_ITEMS || run.pages.at(-1)!.received < MAX_PAGE_ITEMS) return
    const total = run.pages.at(-1)?.total ?? 0
    const stride = MAX_PAGE_ITEMS - OVERLAP
    for (let n = 0; n < MAX_AHEAD && n * stride < wanted; n++) {
      const offset = run.end - OVERLAP + n * stride
      if (offset + OVERLAP >= total || this.#ahead.has(offset)) continue
      const page = this.#options.fetch(this.#query, { offset, limit: MAX_PAGE_ITEMS })
      page.catch(() => {}) // awaited in its turn, or not at all where the run ends before
      this.#ahead.set(offset, page)
    }
  }
}

const PAGE_SIZES = [50, 100, 200 - OVERLAP - 1]
/** Most listings of one run that are skipped. */
const MAX_SKIPPED = 1000

/** Whether an upstream has nothing behind this page. A gateway's total counts copies, so its cursor decides. */
function isLast(page: ListingPage): boolean {
  if (page.nextCursor !== undefined) return false
  return page.isGateway || page.offset + page.received >= page.total
}

/** Restarted, or longer ago than its cursors last. */
function isRejectedCursor(error: unknown): boolean {
  return error instanceof SourceError && error.reason === 'http_400'
}
