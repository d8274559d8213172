import type { ListingQuery } from '../query.ts'
import type { Micros } from '../timestamp.ts'
import type { MissingSource } from './missing-source.ts'
import type { Position } from './position.ts'
import type { SourceReason } from './reasons.ts'

export type Item = {
  /** As its Registry served it, without `_meta`. UTF-8. @throws SyntaxError for an unreadable copy */
  readonly bytes: Uint8Array
  listingId: string
  /** Orders it: when it was created, or a gateway's `_meta.position`. */
  position: Micros
  storefrontUrl: string | null
  /** Signing address, lower-cased, where it is known. */
  publisher: string | null
  /** Its row in its source, the id and more where several have the id; absent: the id. */
  row?: string
  isKnownById?: true
  /** Left out for readers of the signed line, and then unreadable. */
  readonly isLeftOut?: boolean
  origin?: Origin | undefined
  /** JSON members that a gateway adds: what the listing means, by its vocabulary. Absent where it was not read for that. */
  meaning?: string | undefined
  /** Its prices, as of `writeTerms`. Absent where it was not read for that. */
  terms?: string | undefined
}

/** Gateways of a path. The first ones are kept, so that in a ring of any length the first one knows what it has sent. */
export const MAX_VIA = 3

/** The `_meta` of a gateway's item, with the gateway's names. */
export type Origin = {
  registry: string
  alsoIn: readonly string[]
  disputed?: readonly string[]
  unchecked?: readonly string[]
  notIn?: readonly string[]
  /** Ids of the gateways that it came through, the first ones first. */
  via?: readonly string[]
  stale: boolean
  differs: boolean
}

/** Whether it came through one of these gateways. */
export const hasPassed = ({ origin }: Pick<Item, 'origin'>, via: readonly string[] = []): boolean =>
  origin?.via?.some((id) => via.includes(id)) === true

export type Range = {
  /** Exclusive. `null`: from the first. */
  after: Position | null
  /** Listings to begin behind; only from the first. */
  skip?: number
  /** `Infinity` for all. */
  count: number
}

/** What is held of a source whose other listings are not: what has arrived so far, or the newest that fit. */
export type SourcePart = {
  state: 'loading' | 'partial'
  /** How many are held, of how many: whatever the reader sees of them. */
  held?: number | undefined
  of?: number | undefined
}

export type ReadingInfo = {
  /** Matches, less `hidden`. */
  total: number
  /** Matches that are left out, since better sources have them (`ListingQuery.hidden`). */
  hidden?: number | undefined
  /** `false`: the directory that has the publishers of some listings did not answer, or not in time. */
  isAttributed?: boolean
  /** When its first page was requested, in ms since the Unix epoch; its age counts from here. */
  asOf: number
  stale: boolean
  reason?: SourceReason | undefined
  /** When it is to be asked for again, as `asOf`; absent: once its source has changed. */
  freshUntil?: number | undefined
  /** Whether it may be served again without a request; absent means no. `now`: ms since the epoch. */
  isCurrent?: ((now?: number) => boolean) | undefined
  /** Absent where all its listings are there. */
  part?: SourcePart | undefined
  /** Unreadable items that were dropped. */
  invalid?: number | undefined
  /** Sources that a gateway reports as missing from its answer. */
  missing?: readonly MissingSource[] | undefined
}

/** A part of one source's answer, newest first, from the start of the range. */
export type Reading = ReadingInfo & {
  /** Ordered by `comparePositions`; `count`, fewer only at the source's end. */
  listings: readonly Item[]
  hasMore: boolean
}

/** @throws SourceError */
export type Source = (query: ListingQuery, range: Range, signal: AbortSignal) => Promise<Reading>

export type Visibility = 'public' | 'private'

export const FULL_RANGE: Range = { after: null, count: Number.POSITIVE_INFINITY }
