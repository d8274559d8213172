import { SeenListings } from '../domain/listing-identity.ts'
import { at, type JsonValue, numberAt, textAt } from '../json/value.ts'
import type { SourceReport } from '../wire/source.ts'
import { ProblemError, readReports } from './problem-error.ts'

export type PageReport = {
  total: number
  /** True at a plain Registry. */
  isComplete: boolean
  /** `null` for a plain Registry. */
  sources: readonly SourceReport[] | null
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
    nextCursor: textAt(body, 'next_cursor'),
  }
}

export const notAList = (): ProblemError =>
  new ProblemError(200, { detail: 'The answer is not a list of listings.' })

type Copy = {
  listingId: string
  /** `null` at a plain Registry, where ids are unique. */
  registry: string | null
  publisher: string | null
  storefrontUrl: string | null
}

/** Of two pages by offset: so many listings may be removed between two requests without harm. */
const OVERLAP = 10

/** Pages by cursor at a gateway, by offset at a plain Registry. */
export class PageWalk {
  readonly #seen = new SeenListings()
  /** Of the latest page. */
  #counts = { added: 0, repeated: 0 }
  #overlap = 0
  #received = 0
  #cursor: string | null = null
  #isEnd = false

  get isEnd(): boolean {
    return this.#isEnd
  }

  /** Parameters of the next page. */
  paging(limit: number): string {
    this.#counts = { added: 0, repeated: 0 }
    if (this.#cursor !== null) return `limit=${limit}&cursor=${encodeURIComponent(this.#cursor)}`
    return `limit=${limit}${this.#received === 0 ? '' : `&offset=${this.#received - this.#overlap}`}`
  }

  /** Call after `isNew` for its items. Is not complete if listings may be missing between this page and the previous one. */
  advance(items: number, page: PageReport): PageReport {
    const { total, sources, nextCursor } = page
    this.#cursor = nextCursor
    this.#isEnd = nextCursor === null
    if (sources !== null) return page
    const isFirst = this.#received === 0
    this.#received += items - this.#overlap
    this.#isEnd = items === 0 || this.#received >= total
    const { added, repeated } = this.#counts
    const isJoint = added > 0 ? repeated > 0 || this.#overlap === 0 : repeated > 0 && items <= this.#overlap
    this.#overlap = Math.min(OVERLAP, items >> 1)
    return { ...page, isComplete: page.isComplete && (isFirst ? items > 0 || total === 0 : isJoint) }
  }

  /** By offset, a page repeats what new listings moved down; by cursor, listings with copies far apart. */
  isNew({ listingId, registry, publisher, storefrontUrl }: Copy): boolean {
    const isKnown = registry !== null && (publisher !== null || storefrontUrl !== null)
    const isNew = this.#seen.add(listingId, {
      publisher: isKnown ? publisher : `of ${registry}`,
      storefrontUrl,
    })
    this.#counts[isNew ? 'added' : 'repeated']++
    return isNew
  }
}
