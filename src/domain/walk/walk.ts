import type { SourceError } from '../source/source-error.ts'

/** Of two pages by offset: so many listings may be deleted between two requests without harm. */
export const OVERLAP = 10
export const MAX_PAGE_ITEMS = 200
/** Smaller pages are refused while more listings follow, and may hold only unreadable ones. */
export const MIN_PAGE_ITEMS = 25

export type PageRequest = {
  offset: number
  /** 1 to 200. */
  limit: number
  /** A gateway's cursor, sent instead of `offset`. */
  resume?: string | undefined
}

/** What the reader of a walk knows about a page, from its rows and those of the pages before it. */
export type WalkPage = {
  /** On a gateway's later pages, the number of rows before. */
  offset: number
  /** Including unreadable rows. */
  received: number
  total: number
  /** Whether it has the envelope of a gateway, which is paged by cursor, and whose total counts copies. */
  isGateway: boolean
  /** `undefined` at the end of a gateway. */
  nextCursor?: string | undefined
  /** Whether no listing can be missing between it and the pages before. */
  isJoint: boolean
  /** Whether all rows up to its end are in order. */
  isSorted: boolean
  /** New listings. */
  added: number
  /** Rows of all pages: new, repeated by the upstream itself, and unreadable ones. */
  counted: number
  /** Whether publishes moved its first row a little down since an earlier page. */
  hasMoved: boolean
  /** Whether its first row is the last readable one before it. */
  repeatsLast?: boolean
  /** Offset of the last readable row. */
  lastOffset?: number | undefined
  /** Unreadable rows before its end. */
  unreadableAtEnd?: number
}

export type WalkRules = {
  /** Of the upstream, for messages. */
  name: string
  isGateway: boolean
  /** `MIN_PAGE_ITEMS`, or 0 to accept any. */
  minPageItems: number
  /** Pages by cursor without a new listing, before its cursors count as endless. */
  maxRepeatedByCursor: number
  /** Whether a page is divided that one listing can make fail. */
  mayDivide: boolean
  /** Whether a status of 500 has no other likely cause than one listing. */
  mayDivide500: boolean
}

/** All pages of one question, each requested when the one before has been judged. Immutable. */
export type Walk<Page extends WalkPage> = {
  readonly rules: WalkRules
  /** Offset where reading goes on; decreases where it steps back. */
  readonly end: number
  readonly cursor: string | undefined
  readonly unreadableAtEnd: number
  readonly lastOffset: number | undefined
  /** Halved after pages that are too large, doubled after others. */
  readonly maxLimit: number
  /** Rows of the latest page, where the upstream sent fewer than it was asked for. */
  readonly pageSize: number
  readonly isDividing: boolean
  readonly isSorted: boolean
  readonly firstTotal: number | null
  /** Whether a few listings moved down between two pages, which a total does not show if as many were deleted. */
  readonly hasMoved: boolean
  readonly furthest: number
  readonly fruitless: number
  readonly repeated: number
  /** Whether it began again from the top, after a 400, and after an end with fewer listings than the total. */
  readonly wasRefused: boolean
  readonly wasShort: boolean
  readonly skips: number
  /** Offsets just skipped, without `to`: the next page cannot overlap them. */
  readonly skipped: { from: number; to: number } | null
  /** Requests for single listings that are made before a decision. */
  readonly probe: OutageProbe | SkipProbe<Page> | null
}

/** Whether other listings can be read; otherwise `error` fails the walk. */
export type OutageProbe = {
  kind: 'outage'
  offsets: readonly number[]
  request: PageRequest
  error: SourceError
}

/** Whether the skipped listings, and the last one before them, are where they were before `page` was read. */
export type SkipProbe<Page> = {
  kind: 'skipped'
  offsets: readonly number[]
  request: PageRequest
  page: Page
}

/** A row of a page. Positions of one listing that differ are those of a listing that was re-dated meanwhile. */
export type Row = { offset: number; position: number }

/** How the rows of a page, by key, compare with those of the pages before, which end at `end`. */
export function compareRows<R extends Row>(
  rows: readonly (readonly [key: string, row: R])[],
  before: ReadonlyMap<string, R>,
  end: number,
): { fresh: Map<string, R>; duplicates: number; hasMoved: boolean; repeatsSome: boolean } {
  const fresh = new Map<string, R>()
  let duplicates = 0
  let repeatsSome = false
  const [first] = rows
  // By how much the first row has moved down; 0 for one that is new.
  const shift = first === undefined ? 0 : first[1].offset - (before.get(first[0])?.offset ?? first[1].offset)
  for (const [key, row] of rows) {
    const earlier = before.get(key)
    if (earlier?.position === row.position) repeatsSome = true
    // Listings that were re-dated keep their first place.
    if (earlier === undefined && !fresh.has(key)) fresh.set(key, row)
    else if (shift === 0 && row.offset >= end) duplicates++
  }
  return { fresh, duplicates, hasMoved: shift > 0 && shift <= OVERLAP, repeatsSome }
}

/** From the top. */
export function beginWalk<Page extends WalkPage>(rules: WalkRules): Walk<Page> {
  return {
    rules,
    end: 0,
    cursor: undefined,
    unreadableAtEnd: 0,
    lastOffset: undefined,
    maxLimit: MAX_PAGE_ITEMS,
    pageSize: MAX_PAGE_ITEMS,
    isDividing: false,
    isSorted: true,
    firstTotal: null,
    hasMoved: false,
    furthest: 0,
    fruitless: 0,
    repeated: 0,
    wasRefused: false,
    wasShort: false,
    skips: 0,
    skipped: null,
    probe: null,
  }
}

/** Its limit is the highest one that makes sense. */
export function nextRequest(walk: Walk<WalkPage>): PageRequest {
  const { probe, end, cursor, maxLimit, pageSize, unreadableAtEnd } = walk
  if (probe !== null) return { offset: probe.offsets[0]!, limit: 1 }
  if (cursor !== undefined) return { offset: end, limit: maxLimit, resume: cursor }
  // Reaches back to readable listings, and leaves room for new ones.
  const overlap = unreadableAtEnd + Math.min(OVERLAP, maxLimit >> 1, pageSize >> 1)
  return { offset: Math.max(0, end - Math.min(overlap, maxLimit - 1)), limit: maxLimit }
}
