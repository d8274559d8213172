import { identityKey } from '../domain/listing-identity.ts'
import { SourceError } from '../domain/source/source-error.ts'
import { step } from '../domain/walk/step.ts'
import {
  beginWalk,
  compareRows,
  nextRequest,
  type Row,
  type Walk,
  type WalkPage,
  type WalkRules,
} from '../domain/walk/walk.ts'
import { at, type JsonValue, listAt, numberAt, textAt } from '../json/value.ts'
import type { SourceReport, SourcesCounted } from '../wire/source.ts'
import { ProblemError, readCounted, readReports } from './problem-error.ts'

export type PageReport = {
  total: number
  /** True at a plain Registry. */
  isComplete: boolean
  /** `null` for a plain Registry. */
  sources: readonly SourceReport[] | null
  sourcesCounted?: SourcesCounted | undefined
  nextCursor: string | null
}

/** The members of a page beside its items. @throws ProblemError */
export function readPageReport(body: JsonValue): PageReport {
  const total = numberAt(body, 'total_after_filter')
  if (total === null || !Array.isArray(at(body, 'items'))) throw notAList()
  const sources = Array.isArray(at(body, 'sources')) ? readReports(body) : null
  const complete = at(body, 'complete')
  return {
    total,
    isComplete: complete === true || (complete === null && sources === null),
    sources,
    sourcesCounted: readCounted(body),
    nextCursor: textAt(body, 'next_cursor'),
  }
}

const notAList = (): ProblemError =>
  new ProblemError(200, { detail: 'The answer is not a list of listings.' })

type Copy = {
  listingId: string
  /** `null` at a plain Registry, where ids are unique. */
  registry: string | null
  publisher: string | null
  storefrontUrl: string | null
}

/** Pages of a gateway may repeat listings that were unchecked. */
const RULES: WalkRules = {
  name: 'The gateway',
  isGateway: true,
  minPageItems: 0,
  maxRepeatedByCursor: 100,
  mayDivide: false,
  mayDivide500: false,
}

/** Pages of a Registry have at most so many listings. */
const PAGE_SIZE = 200

/**
 * All pages of a query, each with the items that are new. `ask`: the JSON of a path relative to the base URL.
 * @throws ProblemError for an answer that is not a list of listings, and what `ask` throws
 */
export async function* walkPages(
  ask: (path: string) => Promise<JsonValue>,
  search: string,
): AsyncGenerator<{ items: JsonValue[]; page: PageReport }, void> {
  const walk = new PageWalk()
  while (!walk.isEnd) {
    const body = await ask(`listings?${[search, walk.paging(PAGE_SIZE)].filter(Boolean).join('&')}`)
    const report = readPageReport(body)
    const listings = listAt(body, 'items')
    if (listings.some((listing) => textAt(listing, 'listing_id') === null)) throw notAList()
    const { isNew, page } = walk.take(listings.map(copyOf), report)
    yield { items: listings.filter((_, n) => isNew[n]), page }
  }
}

const copyOf = (listing: JsonValue): Copy => ({
  listingId: textAt(listing, 'listing_id') ?? '',
  registry: textAt(listing, '_meta', 'registry'),
  publisher: textAt(listing, '_meta', 'publisher'),
  storefrontUrl: textAt(listing, 'storefront_url'),
})

/** Pages by cursor at a gateway, by offset at a plain Registry. */
export class PageWalk {
  #walk: Walk<WalkPage> = beginWalk(RULES)
  #request = nextRequest(this.#walk)
  #isEnd = false
  /** Rows of the pages that join, by key. */
  #rows = new Map<string, Row>()
  #duplicates = 0
  readonly #given = new Set<string>()

  get isEnd(): boolean {
    return this.#isEnd
  }

  /** Parameters of the next page. */
  paging(limit: number): string {
    this.#request = { ...nextRequest(this.#walk), limit }
    const { offset, resume } = this.#request
    if (resume !== undefined) return `limit=${limit}&cursor=${encodeURIComponent(resume)}`
    return `limit=${limit}${offset === 0 ? '' : `&offset=${offset}`}`
  }

  /**
   * @returns which items are new, in order: by offset, a page repeats what new listings moved down; by cursor, listings that
   * were unchecked. A page by offset that does not follow those before is asked for again from further back, and has no new
   * items; where that does not help, the last page is not complete.
   * @throws ProblemError for cursors without an end
   */
  take(copies: readonly Copy[], report: PageReport): { isNew: readonly boolean[]; page: PageReport } {
    const isGateway = report.sources !== null
    const { offset, resume } = this.#request
    const keys = copies.map((copy, n) => keyOf(copy) ?? `${offset + n}`)
    const rows = keys.map((key, n) => [key, { offset: offset + n, position: 0 }] as const)
    const { fresh, duplicates, hasMoved, repeatsSome } = compareRows(rows, this.#rows, this.#walk.end)
    const follows = offset === 0 || resume !== undefined || (offset >= this.#walk.end && fresh.size > 0)
    const page: WalkPage = {
      offset,
      received: copies.length,
      total: Math.max(report.total, copies.length),
      isGateway,
      nextCursor: report.nextCursor ?? undefined,
      isJoint: repeatsSome || follows,
      isSorted: true,
      added: fresh.size,
      counted: this.#rows.size + fresh.size + this.#duplicates + duplicates,
      hasMoved,
    }
    const { walk, next, accepted, isRestart } = step(this.#walk, { request: this.#request, page })
    const isFailure = next instanceof SourceError
    if (isFailure && isGateway) throw new ProblemError(200, { detail: next.message })
    this.#walk = walk
    this.#isEnd = isFailure || next === 'done'
    if (accepted !== undefined) {
      for (const [key, row] of fresh) this.#rows.set(key, row)
      this.#duplicates += duplicates
    }
    if (isRestart) {
      this.#rows.clear()
      this.#duplicates = 0
    }
    return {
      isNew: keys.map((key) => accepted !== undefined && this.#give(key)),
      page: isFailure ? { ...report, isComplete: false } : report,
    }
  }

  #give(key: string): boolean {
    const { size } = this.#given
    return this.#given.add(key).size > size
  }
}

/** `null` for a copy without a known publisher and a storefront, which is a listing of its own. */
function keyOf({ listingId, registry, publisher, storefrontUrl }: Copy): string | null {
  if (registry === null) return listingId
  const identity = identityKey({ publisher, storefrontUrl })
  return identity === null ? null : `${listingId}\n${identity}`
}
