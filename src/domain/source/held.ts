import type { ListingStatus } from '../listing.ts'
import type { Caching, ListingQuery } from '../query.ts'
import type { Item, SourcePart } from './reading.ts'
import type { SourceError } from './source-error.ts'

/** A copy in memory. `key` names its row in the index of its source. */
export type HeldCopy = { key: string; item: Item; status: ListingStatus }

/** All listings of a source that are in memory: what it has decides about copies in worse sources. */
export type Held = {
  /** Why the source does not answer a list now; `null`: it does. */
  failure: (query: ListingQuery) => SourceError | null
  /** Brings what the query needs, for a source that holds only what was asked of it. Absent: nothing is to be brought. */
  fetch?: (query: ListingQuery, signal: AbortSignal) => Promise<void>
  /** Copies of that id: open ones, and at the local Registry those of any status. Empty while nothing is held. */
  find: (listingId: string) => readonly HeldCopy[]
  /** Of all copies; an id may come several times. */
  ids: () => Iterable<string>
  /** How much of the source is held. Changes of `loading` ones are not followed. */
  coverage: () => 'whole' | 'none' | SourcePart['state']
  /** Another text after any change of what is held, in this process. Absent: not known. */
  version?: () => string
  /**
   * What an answer waits for: for `no-cache` what is new, else the first listings of a source that has none yet. `null`: nothing.
   * Never rejects.
   */
  prepare: (caching: Caching | undefined, signal: AbortSignal) => Promise<void> | null
  /**
   * Calls `listener`, in the turn of the change, with the ids whose copies were added, removed, or have another
   * publisher, storefront or status. Returns a function that ends this.
   */
  onChange: (listener: (listingIds: Iterable<string>) => void) => () => void
  /** Calls `listener`, in the turn of the change, with every change of what is held. Returns a function that ends this. */
  follow: (listener: (change: HeldChange) => void) => () => void
}

export type HeldChange =
  /**
   * Copies of these ids may have changed, whether they are shown or not. `isPushedOut`: whether the source may still have a copy that is
   * not held any more; absent: of none.
   */
  | {
      kind: 'copies'
      listingIds: readonly string[]
      before: CopiesOf
      after: CopiesOf
      isPushedOut?: ((copy: HeldCopy) => boolean) | undefined
    }
  /** What is held is shown again, or no longer. */
  | { kind: 'shown' | 'hidden'; listingIds: () => Iterable<string> }
  /** From now on listings are held. `isContinued`: as another process, or an earlier one, has held them. */
  | { kind: 'held'; isContinued: boolean }

export type CopiesOf = (listingId: string) => readonly HeldCopy[]
