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
   * takes `NEW_LISTING_FIELDS`. `created_at` is kept on replacement.
   */
  publish(command: PublishCommand): Promise<PublishOutcome>
  /** Changes the status or the oracle of an existing listing. `updated_at` always moves. */
  update(command: UpdateCommand): Promise<UpdateOutcome>
  /** Deletes a listing for good. Its publisher stays. */
  remove(command: RemoveCommand): Promise<RemoveOutcome>

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
 * What a signature was used for (`protocol.md` 8, Replay). Remembered until `expiresAt`: the very same use again is
 * answered as the first time, whatever has become of the listing since; after `not_found` and `not_owner`, another
 * body with the same signature, operation and listing is `signature_reused`. A refused use is not remembered.
 */
export type SignatureUse = {
  /** Hash of the signature's 65 canonical bytes. */
  signature: string
  /** Hash of the request that it came with. */
  body: string
  /** When the signature itself stops being valid. */
  expiresAt: Micros
}

export type PublishCommand = {
  identity: Identity
  listingId: string
  /** Replaces the publisher's URL where it is not `null`. */
  storefrontUrl: string | null
  fields: Partial<ListingFields>
  /** `null` keeps the status of an existing listing; a new one is `open`. */
  status: ListingStatus | null
  use: SignatureUse
}

export type PublishOutcome =
  | { outcome: 'published'; record: PublishReceipt }
  | { outcome: 'not_owner' }
  /** Same signature and listing with another body, or same signature with another storefront URL. */
  | { outcome: 'signature_reused' }

export type UpdateCommand = {
  identity: Identity
  listingId: string
  status: ListingStatus | null
  /** JSON text; `undefined` keeps it. */
  oracleAddress: string | undefined
  use: SignatureUse
}

export type UpdateOutcome =
  | { outcome: 'updated'; record: Pick<ListingRecord, 'listingId' | 'status' | 'updatedAt'> }
  | { outcome: 'not_found' }
  | { outcome: 'not_owner' }
  | { outcome: 'signature_reused' }

export type RemoveCommand = { identity: Identity; listingId: string; use: SignatureUse }

/** A removal that repeats an earlier one is `removed` too, and removes nothing that came after it. */
export type RemoveOutcome = { outcome: 'removed' | 'not_found' | 'not_owner' | 'signature_reused' }

export type NewKey = { name: string; scope: KeyScope; hash: string }
