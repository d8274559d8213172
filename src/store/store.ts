import type { ApiKey, KeyScope } from '../domain/api-key.ts'
import type { ListingFields, ListingRecord, ListingStatus, PublishReceipt } from '../domain/listing.ts'
import type { PackedListings } from '../domain/packed-listings.ts'
import type { Publisher } from '../domain/publisher.ts'
import type { Micros } from '../domain/timestamp.ts'

/**
 * Where the truth is kept. One call is one atomic mutation: all of it happens, changelog entry included, or nothing
 * does, and it is durable when the promise resolves. Times come from the store and rise strictly with every mutation,
 * so `created_at` orders listings totally, whichever replica took them.
 *
 * Every implementation passes `test/store/contract.ts`. A store that cannot be reached rejects with an
 * `EntrepotError` of code `unavailable`.
 */
export interface Store {
  /**
   * Creates or replaces a listing, its publisher included. Absent fields of an existing listing are kept; a new one
   * takes `NEW_LISTING_FIELDS`. `created_at` is kept on replacement. A row of more than `MAX_LISTING_BYTES` is refused.
   */
  publish(command: PublishCommand): Promise<PublishOutcome>
  /** Changes the status or the oracle of an existing listing. `updated_at` always moves. */
  update(command: UpdateCommand): Promise<UpdateOutcome>
  /** Deletes a listing for good. Its publisher stays. */
  remove(command: RemoveCommand): Promise<RemoveOutcome>
  /** Whether the store remembers a use of that signature for that operation on that listing, with any body. */
  hasUse(key: UseKey): Promise<boolean>

  /** Adds an active key under the next id. Ids are never used twice. */
  addKey(key: NewKey): Promise<ApiKey>
  /** Adds the key only if the store has never held one, revoked ones included. `null` when it has. */
  seedKey(key: NewKey): Promise<ApiKey | null>
  /** Revokes for good; the first `revokedAt` stays. `null` for an unknown id. */
  revokeKey(id: number): Promise<ApiKey | null>

  /**
   * Shows the visitor everything that is kept: keys and publishers, then the listings in `created_at` order, none
   * twice. The position returned is one from which `changesAfter` misses nothing (it may repeat).
   */
  load(visitor: LoadVisitor): Promise<Position>
  /**
   * What has changed after a position, oldest first, at most `limit` entries, each with the state that is current
   * now: applying entries twice, or late, leads to the same end. A publisher comes before its listings. Fewer than
   * `limit` means that there are no more. `lost` when the changelog no longer reaches back that far, and the caller
   * has to `load` again.
   */
  changesAfter(position: Position, limit: number): Promise<{ changes: Change[]; position: Position } | 'lost'>
  /** Calls back soon after anybody (this process or another) has changed something. Returns how to stop. */
  onChange(notify: () => void): () => void

  /** Resolves if the store can be read and written now. */
  ping(): Promise<void>
  close(): Promise<void>
}

/** A place in the changelog. Opaque to all but the store that gave it. */
export type Position = string

export type Change =
  | { kind: 'publisher'; publisher: Publisher }
  | { kind: 'listing'; record: ListingRecord }
  | { kind: 'listing_removed'; listingId: string }
  | { kind: 'key'; key: ApiKey }

export type LoadVisitor = {
  /** A key, or a publisher. */
  change(change: Change): void
  /** Some listings more. The store waits for what is returned before it calls again. */
  listings(page: PackedListings): void | Promise<void>
}

export type Identity = { scheme: string; identifier: string }

/**
 * One use of a signature, for the replay guard. The store remembers an accepted use until the signature has expired by
 * the clock that accepts signatures, and answers `signature_reused`
 *
 * - to the very same use again, where the listing has changed or gone since; otherwise it is answered as the first time,
 *   before any other check;
 * - to another body with the same signature, operation and listing, behind `not_found` and `not_owner`;
 * - likewise to a use that is not known and expires no later than one that was forgotten: it may be that one. So a used
 *   signature stays used, wherever the clock is set.
 */
export type SignatureUse = {
  /** Hash of the signature's canonical form. */
  signature: string
  /** Hash of the request that it came with. */
  body: string
  /** When the signature stops being valid: the same for all its uses. */
  expiresAt: Micros
  /** The time now, by the clock that has accepted the signature. */
  now: Micros
}

export type SignedOperation = 'publish' | 'update' | 'remove'

/** What tells the uses of signatures apart: one signature may publish several listings. */
export type UseKey = { operation: SignedOperation; listingId: string; signature: string }

export type PublishCommand = {
  identity: Identity
  listingId: string
  /** Replaces the publisher's URL unless it is `''` or `null`, which only a new publisher gets. */
  storefrontUrl: string | null
  fields: Partial<ListingFields>
  /** `null` keeps the status of an existing listing; a new one is `open`. */
  status: ListingStatus | null
  /** Listings that the publisher may have, whatever their status: one more is refused. 0 is no limit. */
  maxListings: number
  expected?: Expected
  use: SignatureUse
}

/** The `updated_at` of the listing that a command is for, `null` for none: `changed` where it is not. Default: any. */
export type Expected = Micros | null | undefined

export type PublishOutcome =
  | { outcome: 'published'; record: PublishReceipt }
  | { outcome: 'not_owner' }
  /** See `SignatureUse`; also a signature that came with another storefront URL, or with none, before. */
  | { outcome: 'signature_reused' }
  | { outcome: 'changed' }
  | { outcome: 'too_many_listings' }
  /** The listing would be larger than `MAX_LISTING_BYTES`. */
  | { outcome: 'too_large' }

export type UpdateCommand = {
  identity: Identity
  listingId: string
  status: ListingStatus | null
  /** JSON text; `undefined` keeps it. */
  oracleAddress: string | undefined
  expected?: Expected
  use: SignatureUse
}

/** What the answer to an update is made of. */
export type UpdateReceipt = Pick<ListingRecord, 'listingId' | 'status' | 'updatedAt'>

export type UpdateOutcome =
  | { outcome: 'updated'; record: UpdateReceipt }
  | { outcome: 'not_found' }
  | { outcome: 'not_owner' }
  | { outcome: 'signature_reused' }
  | { outcome: 'changed' }
  /** The listing would be larger than `MAX_LISTING_BYTES` with that oracle. */
  | { outcome: 'too_large' }

export type RemoveCommand = { identity: Identity; listingId: string; use: SignatureUse }

export type RemoveOutcome = { outcome: 'removed' | 'not_found' | 'not_owner' | 'signature_reused' }

export type NewKey = { name: string; scope: KeyScope; hash: string }
