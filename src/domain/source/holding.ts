import type { Criterion } from '../../filter-spec/filter.ts'
import type { Caching, ListingQuery } from '../query.ts'
import type { Item } from './item.ts'
import type { MissingSource } from './missing-source.ts'
import type { SourceReason } from './reasons.ts'
import type { Visibility } from './upstream.ts'

/** A source of a market. Its rows are in the index; this is what else is known of it. */
export type Holding = {
  /** That of the own Registry, or the upstream's configured name. */
  name: string
  visibility: Visibility
  /** The lowest number wins when sources have copies of a listing. */
  priority: number
  /** The own Registry, of which listings of every status are held. Of others open ones are. */
  isOwn: boolean
  /** May have several copies of one id, each with an `origin`. */
  isGateway: boolean
  /** What answers the question now. @throws SourceError why nothing of the source may be shown */
  answer: (query: ListingQuery) => HeldAnswer
  /** The number of the rows that are read, shown or not; `null` where none are held. */
  rows: () => number | null
  /** How much of the source is held. */
  coverage: () => 'whole' | 'none' | SourcePart['state']
  /**
   * What an answer waits for: for `no-cache` what is new, else the first listings of a source that has none yet. `null`: nothing.
   * Never rejects.
   */
  prepare: (caching: Caching | undefined, signal: AbortSignal) => Promise<void> | null
  /** Brings what the question needs, for a source that holds only what was asked of it. Absent: nothing is to be brought. */
  fetch?: (query: ListingQuery, signal: AbortSignal) => Promise<void>
  /**
   * Copies of one id, of any status: what is held where that is fresh, else what the source says now. `ignoresHeld`: as if none
   * were held. @throws SourceError
   */
  find: (question: OneListing, signal: AbortSignal) => Promise<FoundCopies>
  /** Sellers of the own Registry whose `publisher_principals` match, which its rows lack. Absent at upstreams. */
  sellersWith?: (criteria: readonly Criterion[]) => ReadonlySet<number>
  /** Calls `listener`, in the turn of the change, when the rows that are read become others. Returns a function that ends this. */
  follow: (listener: (change: HoldingChange) => void) => () => void
}

/** What is held of a source whose other listings are not: what has arrived so far, or the newest that fit. */
export type SourcePart = {
  state: 'loading' | 'partial'
  /** How many are held, of how many: whatever the reader sees of them. */
  held?: number | undefined
  of?: number | undefined
}

/** What is held for a question: `source` has its rows (`CopyIndex.addSource`), the rest is what answers say of them. */
export type HeldAnswer = AnswerFacts & {
  source: number
  /** Whether the rows are the newest of `part.of` matches: a full page of them lacks nothing. */
  isNewest?: boolean
  /** Names of filters of the question that the source has applied itself: its rows match them. Absent: none. */
  judged?: ReadonlySet<string>
  isCurrent: NonNullable<AnswerFacts['isCurrent']>
}

export type OneListing = Pick<ListingQuery, 'caching' | 'trace'> & {
  via?: readonly string[] | undefined
  listingId: string
  ignoresHeld?: boolean
}

export type FoundCopies = AnswerFacts & { copies: readonly Item[] }

/** What a source says of its answer. */
export type AnswerFacts = {
  /** When its first page was requested, in ms since the Unix epoch; its age counts from here. */
  asOf: number
  stale: boolean
  reason?: SourceReason | undefined
  /** When it is to be asked for again, as `asOf`; absent: once its source has changed. */
  freshUntil?: number | undefined
  /** Unreadable items that were dropped. */
  invalid?: number | undefined
  /** Sources that a gateway reports as missing from its answer. */
  missing?: readonly MissingSource[] | undefined
  /** `false`: the directory that has the publishers of some listings did not answer, or not in time. */
  isAttributed?: boolean
  /** Absent where all its listings are there. */
  part?: SourcePart | undefined
  /** Whether this may be reported again, whatever the rows are by then; absent: never. `now`: ms since the epoch, monotonic. */
  isCurrent?: ((now?: number) => boolean) | undefined
}

export type HoldingChange =
  /** Other rows are read from now on: those of another generation. `from`: `null` where none were. */
  | { kind: 'replaced'; from: number | null; to: number }
  /** What is held is shown again, or no longer. */
  | { kind: 'shown' | 'hidden'; source: number }
  /** What was held in part is held whole. */
  | { kind: 'whole' }
  /** From now on listings are held. `isContinued`: as another process, or an earlier one, has held them. */
  | { kind: 'held'; isContinued: boolean }
