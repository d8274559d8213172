import { raceAbort } from '../../domain/clock.ts'
import { joinMissing, type MissingSource } from '../../domain/source/missing-source.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import type { UpstreamOptions } from '../../domain/source/upstream.ts'
import { step, type WalkEvent } from '../../domain/walk/step.ts'
import {
  beginWalk,
  compareRows,
  MIN_PAGE_ITEMS,
  nextRequest,
  type PageRequest,
  type Walk,
  type WalkPage,
} from '../../domain/walk/walk.ts'
import type { FetchPage } from '../page/fetch-page.ts'
import type { ListingPage, PageItem } from '../page/listing-page.ts'
import type { UpstreamQuery } from '../push-down.ts'
import { type Bounds, Collected, isBeyond, snapshotKey } from './snapshot.ts'

/** Pages by cursor without new listings. */
const MAX_REPEATED = 2

type JoinOptions = {
  upstream: Pick<UpstreamOptions, 'name' | 'kind'>
  fetch: FetchPage
  query: UpstreamQuery
}

/** Where a pull ends before it has all. */
export type PullBounds = Partial<Bounds> & {
  /** Its reason is the failure of a pull that has no page by then. */
  until?: AbortSignal | undefined
  /** Called with what each page adds, in the order of the upstream. Publishers may be unknown by then. */
  onItems?: ((items: readonly PageItem[]) => void) | undefined
  /** Whether what has arrived before this failure is the result. Default: it is not. */
  takes?: ((failure: SourceError) => boolean) | undefined
}

/**
 * Reads from the top, as the walk decides, until the bounds are reached or the upstream ends.
 * @param firstPage if it was just read
 * @throws SourceError `unstable` | `bad_envelope`, or the rejection of `fetch`
 */
export async function joinPages(
  { upstream: { name, kind }, fetch, query }: JoinOptions,
  firstPage: ListingPage | null,
  { until, onItems, takes, ...bounds }: PullBounds,
): Promise<JoinedPages> {
  let walk: Walk<JoinedPage> = beginWalk({
    name,
    isGateway: kind === 'gateway',
    minPageItems: MIN_PAGE_ITEMS,
    maxRepeatedByCursor: MAX_REPEATED,
    mayDivide: true,
    // A filter may be the cause, too.
    mayDivide500: kind === 'registry' && query.pushed.length === 0,
  })
  let first = firstPage
  let pages = new JoinedPages()
  /** Until a walk that begins again has a page, those before. */
  let latest: JoinedPages | null = null
  const isEnough = (): boolean =>
    latest !== null && (isBeyond(bounds, latest.collected) || until?.aborted === true)
  try {
    while (!pages.isEnded && !isEnough()) {
      const event = await ask(nextRequest(walk))
      const { next, accepted, skipped, isRestart, ...after } = step(walk, event)
      const added = accepted && pages.add(accepted)
      if (skipped !== undefined) pages.skip(skipped)
      if (next instanceof SourceError) throw next
      pages.isEnded = next === 'done'
      if (added !== undefined) {
        latest = pages
        onItems?.(added)
      }
      walk = after.walk
      if (isRestart) pages = new JoinedPages(walk.isSorted)
    }
    return latest ?? pages
  } catch (error) {
    if (latest === null) throw error
    const isTaken = latest.collected.size > 0 && error instanceof SourceError && takes?.(error)
    if (isTaken || until?.aborted) return latest
    throw error
  }

  async function ask(request: PageRequest): Promise<WalkEvent<JoinedPage>> {
    try {
      const known = request.offset === 0 ? first : null
      first = null
      const fetched =
        known ?? (await (until ? raceAbort(fetch(query, request), until) : fetch(query, request)))
      return { request, page: pages.describe(fetched) }
    } catch (error) {
      if (error instanceof SourceError) return { request, error }
      throw error
    }
  }
}

/** A page as the walk judges it, with what it adds. */
type JoinedPage = WalkPage & {
  page: ListingPage
  fresh: ReadonlyMap<string, PageItem>
  /** Rows of listings that the upstream itself has more than once. */
  duplicates: number
  /** Offsets. */
  unreadable: ReadonlySet<number>
}

/**
 * A page joins when no listing can be missing in between: it begins before the last known listing, or contains a known one
 * at the same position. Re-dated listings and empty pages prove nothing.
 */
export class JoinedPages {
  readonly pages: ListingPage[] = []
  /** What can be held. */
  readonly collected = new Collected<PageItem>()
  /** At the end of the upstream. */
  isEnded = false
  /** Offset after the last page; decreases where reading stepped back. */
  #end = 0
  #isSorted: boolean
  /** Every listing with an id and a date as it was first, matching or not, in the upstream's order. */
  readonly #byKey = new Map<string, PageItem>()
  readonly #unreadable = new Set<number>()
  #duplicates = 0
  /** Too long, or nested too deep. */
  #unholdable = 0
  #last: PageItem | undefined

  constructor(isSorted = true) {
    this.#isSorted = isSorted
  }

  /** How many the upstream has, matching or not: a gateway whose cursors never end may report any total. */
  get expected(): number {
    return Math.max(this.pages.at(-1)?.total ?? 0, this.#byKey.size)
  }

  get invalid(): number {
    return this.#unreadable.size + this.#unholdable + this.collected.withoutRoom
  }

  get missing(): readonly MissingSource[] | undefined {
    return this.pages.map(({ missing }) => missing).reduce(joinMissing, undefined)
  }

  /** Of the oldest data when they were sent. */
  get ageSeconds(): number {
    return Math.max(0, ...this.pages.map((page) => page.ageSeconds))
  }

  describe(page: ListingPage): JoinedPage {
    const { items, offset, received, total, isGateway, nextCursor } = page
    const last = this.pages.at(-1)?.items.at(-1)
    const [first] = items
    const rows = items.map((item) => [snapshotKey(item), item] as const)
    const { fresh, duplicates, hasMoved, repeatsSome } = compareRows(rows, this.#byKey, this.#end)
    const unreadable = this.#newUnreadable(page)
    const before = this.#byKey.size + this.#duplicates + this.#unreadable.size
    return {
      offset,
      received,
      total,
      isGateway,
      nextCursor,
      isJoint: repeatsSome || this.#isBehind(page),
      isSorted: items.every(({ position }, n) => n === 0 || position <= items[n - 1]!.position),
      added: fresh.size,
      counted: before + fresh.size + duplicates + unreadable.size,
      hasMoved,
      repeatsLast: first?.listingId === last?.listingId && first?.position === last?.position,
      lastOffset: items.at(-1)?.offset,
      unreadableAtEnd: countBefore(offset + received, [unreadable, this.#unreadable]),
      page,
      fresh,
      duplicates,
      unreadable,
    }
  }

  /** @returns what is new of it, and can be held */
  add({ page, isSorted, fresh, duplicates, unreadable }: JoinedPage): readonly PageItem[] {
    if (!isSorted) this.#isSorted = false
    for (const [key, item] of fresh) {
      this.#byKey.set(key, item)
      this.#last = item
    }
    this.#duplicates += duplicates
    this.pages.push(page)
    this.#end = page.offset + page.received
    for (const offset of unreadable) this.#unreadable.add(offset)
    const matches = [...fresh.values()].filter(({ isMatch }) => isMatch)
    const added = matches.filter(canBeHeld)
    this.#unholdable += matches.length - added.length
    this.collected.add(page.items.filter(canBeHeld))
    return added
  }

  skip(offset: number): void {
    this.#unreadable.add(offset)
    this.#end = Math.max(this.#end, offset + 1)
  }

  /** Whether nothing can be missing before it, whatever it repeats. */
  #isBehind({ offset, about, items: [first] }: ListingPage): boolean {
    if (offset === 0 || about.resume !== undefined) return true
    if (first === undefined) return false
    return this.#last === undefined || (this.#isSorted && first.position > this.#last.position)
  }

  #newUnreadable({ items, offset, received }: ListingPage): ReadonlySet<number> {
    const unreadable = new Set<number>()
    if (items.length === received) return unreadable
    const readable = new Set(items.map((item) => item.offset))
    for (let at = offset; at < offset + received; at++)
      if (!readable.has(at) && !this.#unreadable.has(at)) unreadable.add(at)
    return unreadable
  }
}

const canBeHeld = ({ isMatch, isReadable }: PageItem): boolean => isMatch && isReadable

function countBefore(end: number, sets: readonly ReadonlySet<number>[]): number {
  let count = 0
  while (sets.some((set) => set.has(end - 1 - count))) count++
  return count
}
