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
import { type ListingPage, listingKey, type PageItem } from '../page/listing-page.ts'
import type { UpstreamQuery } from '../push-down.ts'

/** Pages by cursor without new listings. */
const MAX_REPEATED = 2

type JoinOptions = {
  upstream: Pick<UpstreamOptions, 'name' | 'kind'>
  fetch: FetchPage
  /** Called after each page that joins. Pages of a walk that begins again are others. */
  onPage: (pages: JoinedPages) => void
  /** Whether the walk may end before the upstream does. */
  isEnough: () => boolean
}

/**
 * Reads from the top, as the walk decides, until the upstream ends.
 * @throws SourceError `unstable` | `bad_envelope`, or the rejection of `fetch`
 */
export async function joinPages(options: JoinOptions, query: UpstreamQuery): Promise<JoinedPages> {
  const { upstream, fetch, onPage, isEnough } = options
  const { name, kind } = upstream
  let walk: Walk<JoinedPage> = beginWalk({
    name,
    isGateway: kind === 'gateway',
    minPageItems: MIN_PAGE_ITEMS,
    maxRepeatedByCursor: MAX_REPEATED,
    mayDivide: true,
    // A filter may be the cause, too.
    mayDivide500: kind === 'registry' && query.pushed.length === 0,
  })
  let pages = new JoinedPages(kind)
  while (!pages.isEnded && !isEnough()) {
    const request = nextRequest(walk)
    const { next, accepted, skipped, isRestart, ...after } = step(walk, await ask(request))
    if (accepted !== undefined) pages.add(accepted)
    if (skipped !== undefined) pages.skip(skipped)
    if (next instanceof SourceError) throw next
    pages.isEnded = next === 'done'
    if (accepted !== undefined) onPage(pages)
    walk = after.walk
    if (isRestart) pages = new JoinedPages(kind, walk.isSorted)
  }
  return pages

  async function ask(request: PageRequest): Promise<WalkEvent<JoinedPage>> {
    try {
      return { request, page: pages.describe(await fetch(query, request)) }
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
  /** Every listing with an id and a date once, matching or not, in the upstream's order. */
  readonly items: PageItem[] = []
  /** At the end of the upstream. */
  isEnded = false
  /** Offset after the last page; decreases where reading stepped back. */
  #end = 0
  #isSorted: boolean
  readonly #kind: UpstreamOptions['kind']
  readonly #byKey = new Map<string, PageItem>()
  readonly #unreadable = new Set<number>()
  #duplicates = 0

  constructor(kind: UpstreamOptions['kind'], isSorted = true) {
    this.#kind = kind
    this.#isSorted = isSorted
  }

  /** How many the upstream has, matching or not: a gateway whose cursors never end may report any total. */
  get expected(): number {
    return Math.max(this.pages.at(-1)?.total ?? 0, this.items.length)
  }

  get invalid(): number {
    return this.#unreadable.size
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
    const rows = items.map((item) => [listingKey(item, this.#kind), item] as const)
    const { fresh, duplicates, hasMoved, repeatsSome } = compareRows(rows, this.#byKey, this.#end)
    const unreadable = this.#newUnreadable(page)
    const before = this.items.length + this.#duplicates + this.#unreadable.size
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

  add({ page, isSorted, fresh, duplicates, unreadable }: JoinedPage): void {
    if (!isSorted) this.#isSorted = false
    for (const [key, item] of fresh) {
      this.#byKey.set(key, item)
      this.items.push(item)
    }
    this.#duplicates += duplicates
    this.pages.push(page)
    this.#end = page.offset + page.received
    for (const offset of unreadable) this.#unreadable.add(offset)
  }

  skip(offset: number): void {
    this.#unreadable.add(offset)
    this.#end = Math.max(this.#end, offset + 1)
  }

  /** Whether nothing can be missing before it, whatever it repeats. */
  #isBehind({ offset, about, items: [first] }: ListingPage): boolean {
    if (offset === 0 || about.resume !== undefined) return true
    if (first === undefined) return false
    const last = this.items.at(-1)
    return last === undefined || (this.#isSorted && first.position > last.position)
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

function countBefore(end: number, sets: readonly ReadonlySet<number>[]): number {
  let count = 0
  while (sets.some((set) => set.has(end - 1 - count))) count++
  return count
}
