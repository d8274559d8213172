import { SeenListings } from '../domain/listing-identity.ts'
import { at, type JsonValue, textAt } from '../json/value.ts'
import type { SourceReport } from '../wire/source.ts'
import { ProblemError } from './problem-error.ts'
import { numberAt, readReports } from './source-report.ts'

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
  if (total === null || !Array.isArray(at(body, 'items')))
    throw new ProblemError(200, { detail: 'The answer is not a list of listings.' })
  const sources = Array.isArray(at(body, 'sources')) ? readReports(body) : null
  const complete = at(body, 'complete')
  return {
    total,
    isComplete: complete === true || (complete === null && sources === null),
    sources,
    nextCursor: textAt(body, 'next_cursor'),
  }
}

type Copy = {
  listingId: string
  /** `null` at a plain Registry, where ids are unique. */
  registry: string | null
  publisher: string | null
  storefrontUrl: string | null
}

/** Pages by cursor at a gateway, by offset at a plain Registry. */
export class PageWalk {
  readonly #seen = new SeenListings()
  #received = 0
  #cursor: string | null = null
  #isEnd = false

  get isEnd(): boolean {
    return this.#isEnd
  }

  /** Parameters of the next page. */
  paging(limit: number): string {
    if (this.#cursor !== null) return `limit=${limit}&cursor=${encodeURIComponent(this.#cursor)}`
    return `limit=${limit}${this.#received === 0 ? '' : `&offset=${this.#received}`}`
  }

  advance(items: number, page: PageReport): PageReport {
    const { total, sources, nextCursor } = page
    this.#received += items
    this.#cursor = nextCursor
    this.#isEnd = sources === null ? items === 0 || this.#received >= total : nextCursor === null
    return page
  }

  /** By offset, a page repeats what new listings moved down; by cursor, listings with copies far apart. */
  isNew({ listingId, registry, publisher, storefrontUrl }: Copy): boolean {
    const isKnown = registry !== null && (publisher !== null || storefrontUrl !== null)
    return this.#seen.add(listingId, { publisher: isKnown ? publisher : `of ${registry}`, storefrontUrl })
  }
}
