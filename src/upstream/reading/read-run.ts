import type { Clock } from '../../domain/clock.ts'
import type { Position } from '../../domain/source/position.ts'
import type { Range } from '../../domain/source/reading.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import type { UpstreamOptions } from '../../domain/source/upstream.ts'
import { step, type WalkEvent } from '../../domain/walk/step.ts'
import {
  beginWalk,
  MAX_PAGE_ITEMS,
  MIN_PAGE_ITEMS,
  nextRequest,
  type PageRequest,
  type Walk,
  type WalkRules,
} from '../../domain/walk/walk.ts'
import type { FetchPage } from '../page/fetch-page.ts'
import type { UpstreamQuery } from '../upstream-query.ts'
import { Run, type RunPage } from './run.ts'

/** Pages by cursor without new listings. */
const MAX_REPEATED = 2
/** Listings with one position, whose order is the upstream's own. */
const MAX_TIE = 2000
/** Of a page, so that similar questions share it. */
const MIN_LIMIT = 50

export type ReadRunOptions = {
  upstream: Pick<UpstreamOptions, 'name' | 'kind'> & { scanLimit: number }
  fetch: FetchPage
  clock: Clock
  /** Ends the run before its next request. */
  signal?: AbortSignal
  /** Called after every page; throws to give the run up. */
  check?: (run: Run) => void
  /** Whether the run may end before it covers its range. */
  isEnough?: (run: Run) => boolean
  /** Starts the rest of a long read, behind its first page. Default: at once. */
  longReads?: (readRest: () => Promise<Run>) => Promise<Run>
}

/**
 * Reads current pages, never cached ones, as the walk decides. An unsorted upstream is read whole, up to `scanLimit`.
 * @throws SourceError `unstable` | `unsorted` | `bad_envelope` | `scan_limit`, or the rejection of `fetch`
 */
export async function readRun(options: ReadRunOptions, query: UpstreamQuery, range: Range): Promise<Run> {
  const { longReads } = options
  const reader = new RunReader(options, query, range)
  const readRest = () => reader.readUntil(() => reader.hasEnough)
  await reader.readUntil((run) => run.pages.length > 0 || reader.hasEnough)
  const isLong = !reader.hasEnough && reader.listingsLeft > MAX_PAGE_ITEMS
  return isLong && longReads ? longReads(readRest) : readRest()
}

class RunReader {
  readonly #options: ReadRunOptions
  readonly #query: UpstreamQuery
  readonly #range: Range
  #walk: Walk<RunPage>
  #run: Run
  #received = 0

  constructor(options: ReadRunOptions, query: UpstreamQuery, range: Range) {
    const { after, offsetHint, resume } = range
    this.#options = options
    this.#query = query
    this.#range = range
    this.#walk = beginWalk(rulesOf(options.upstream, query), {
      offset: offsetHint,
      cursor: resume,
      isFromTop: after === null,
    })
    this.#run = this.#begin(after)
  }

  async readUntil(isEnough: (run: Run) => boolean): Promise<Run> {
    while (!isEnough(this.#run)) {
      this.#options.signal?.throwIfAborted()
      const { walk, next, accepted, skipped, isRestart } = step(this.#walk, await this.#ask())
      if (accepted !== undefined) this.#run.add(accepted)
      if (skipped !== undefined) this.#run.skip(skipped)
      if (next instanceof SourceError) throw next
      this.#run.isEnded = next === 'done'
      if (accepted !== undefined) this.#check(accepted)
      this.#walk = walk
      if (isRestart) this.#run = this.#begin(null)
    }
    return this.#run
  }

  get hasEnough(): boolean {
    const run = this.#run
    if (run.isEnded || this.#options.isEnough?.(run) === true) return true
    return run.isSorted && run.covers(this.#range)
  }

  /** How many listings are still to be read. */
  get listingsLeft(): number {
    const run = this.#run
    if (!run.isSorted) return Number.POSITIVE_INFINITY
    return Math.max(1, this.#range.count - run.select(this.#range).listings.length)
  }

  #begin(after: Position | null): Run {
    const { upstream, clock } = this.#options
    this.#received = 0
    return new Run(upstream.kind, { after, asOf: clock.monotonic(), isSorted: this.#walk.isSorted })
  }

  async #ask(): Promise<WalkEvent<RunPage>> {
    const request = this.#request()
    try {
      return { request, page: this.#run.describe(await this.#options.fetch(this.#query, request)) }
    } catch (error) {
      if (error instanceof SourceError) return { request, error }
      throw error
    }
  }

  /** Asks for little more than is wanted; one more listing shows where a tie ends. */
  #request(): PageRequest {
    const request = nextRequest(this.#walk)
    // Where the range begins in the page of a cursor is not known.
    const isOfUnknownStart = this.#run.pages.length === 0 && request.resume !== undefined
    if (this.#walk.probe !== null || isOfUnknownStart) return request
    const before = Math.max(this.#walk.end, this.#run.end) - request.offset
    return { ...request, limit: Math.min(request.limit, Math.max(this.listingsLeft + before, MIN_LIMIT) + 1) }
  }

  #check({ received, total }: RunPage): void {
    const { upstream, check } = this.#options
    const { name, scanLimit } = upstream
    const { count } = this.#range
    const run = this.#run
    this.#received += received
    check?.(run)
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
}

function rulesOf(
  { name, kind }: Pick<UpstreamOptions, 'name' | 'kind'>,
  { listingId, pushed }: UpstreamQuery,
): WalkRules {
  return {
    name,
    isGateway: kind === 'gateway',
    minPageItems: MIN_PAGE_ITEMS,
    maxRepeatedByCursor: MAX_REPEATED,
    mayDivide: listingId === undefined,
    // A filter may be the cause, too.
    mayDivide500: kind === 'registry' && pushed.length === 0,
  }
}
