import type { ApiKey } from '../domain/api-key.ts'
import type { AuditBounds, AuditEntry, NewAuditEntry } from '../domain/audit.ts'
import type { Block, NewBlock } from '../domain/block.ts'
import {
  type ListingFields,
  type ListingRecord,
  type ListingStatus,
  type PackedListings,
  type PublishReceipt,
  USE_SECONDS,
} from '../domain/listing.ts'
import type {
  Publisher,
  PublisherIdentity,
  RetirementRefusal,
  Rotation,
  RotationIntent,
  RotationRefusal,
} from '../domain/publisher.ts'
import { formatAge, type Micros, nowMicros } from '../domain/timestamp.ts'
import { EntrepotError } from '../errors.ts'
import type { Feed } from './feed.ts'

/**
 * Each mutation is atomic, changelog entry included, and durable when it resolves. Times rise strictly with
 * every mutation, across replicas. Calls reject with `EntrepotError` `unavailable` if the store cannot be
 * reached. Every implementation passes `test/integration/store/contract.ts`.
 */
export interface Store {
  /**
   * Absent fields are kept, or take `NEW_LISTING_FIELDS`. Replacing keeps `created_at`. Refuses rows beyond
   * `MAX_LISTING_BYTES`.
   */
  publish(command: PublishCommand): Promise<PublishOutcome>
  /** Always moves `updated_at`. */
  update(command: UpdateCommand): Promise<UpdateOutcome>
  /** The publisher stays. */
  remove(command: RemoveCommand): Promise<RemoveOutcome>
  /** Whether a use of that signature for that operation on that listing is known, with any body. */
  hasUse(key: UseKey): Promise<boolean>

  /** Begins a write of the signed line, or gives what became known of it: see `WriteRequest`. */
  reserve(request: WriteRequest): Promise<Reservation>
  /** Keeps the answer for repeats. `null` lets the next try begin at once. */
  settle(request: WriteRequest, answer: RecordedAnswer | null): Promise<void>
  /** The publisher keeps its id and its listings. */
  rotate(command: RotateCommand): Promise<RotateOutcome>
  /** Ends the overlap of a rotation. */
  retire(command: RetireCommand): Promise<RetireOutcome>

  /** Ids are never reused. */
  addKey(key: NewKey): Promise<ApiKey>
  /** `null` if the store has ever had a key, revoked ones included. */
  seedKey(key: NewKey): Promise<ApiKey | null>
  /** The first `revokedAt` stays. `null` for an unknown id. */
  revokeKey(id: number): Promise<ApiKey | null>
  /** Adds a key, and lets another expire at `endsAt` or before. `null`, and no change, where that one is unknown or revoked. */
  replaceKey(id: number, endsAt: Micros, key: NewKey): Promise<ApiKey | null>
  /** Ids are never reused. */
  addBlock(block: NewBlock): Promise<Block>
  /**
   * The first `endedAt` stays. `null` for an unknown id.
   * @param onlyIfDue ends it only where `until` has come, by the store's clock
   */
  endBlock(id: number, onlyIfDue?: boolean): Promise<Block | null>

  /** Times rise. Drops the oldest of each kind beyond its bounds, `MAX_AUDIT_DROPS` at most; nothing else is changed or removed. */
  appendAudit(entry: NewAuditEntry, bounds: AuditBounds): Promise<AuditEntry>
  /** Of both kinds, oldest first: at most `limit` after a time, or the latest ones. */
  readAudit(since: Micros | null, limit: number): Promise<AuditEntry[]>

  /**
   * Visits blocks, keys and publishers, then listings in any order, each once; one that changes meanwhile comes as a change, which
   * is later than its page. `changesAfter` the position that it returns misses nothing, and may repeat.
   */
  load(visitor: LoadVisitor): Promise<ChangelogPosition>
  /**
   * Oldest first, with the current state: applying entries twice or late is harmless. Publishers precede
   * their listings. Fewer than `limit` are the last. `lost`: the changelog no longer reaches back that far;
   * `load` again.
   */
  changesAfter(
    position: ChangelogPosition,
    limit: number,
  ): Promise<{ changes: Change[]; position: ChangelogPosition } | 'lost'>
  /** Calls back soon after a change by any process. Returns how to stop. */
  onChange(notify: () => void): () => void

  /** The log behind `GET /changes`. A copy of the store has a new one. */
  readonly feed: Feed

  /** Rejects if the store cannot be read and written, or refuses every signature of now as one that may have been dropped. */
  ping(): Promise<void>
  close(): Promise<void>
}

/** Of one append: bounds that were lowered are reached step by step. */
export const MAX_AUDIT_DROPS = 1000

export type ChangelogPosition = string

export type Change =
  | { kind: 'publisher'; publisher: Publisher }
  | { kind: 'listing'; record: ListingRecord }
  | { kind: 'listing_removed'; listingId: string }
  | { kind: 'key'; key: ApiKey }
  | { kind: 'block'; block: Block }

export type LoadVisitor = {
  change(change: Change): void
  /** The store awaits it before the next call. */
  listings(page: PackedListings): void | Promise<void>
}

/**
 * One use of a signature, for the replay guard. The store remembers an accepted use until the signature has
 * expired by the clock that accepts signatures. Then only the signature is kept, as spent: the clock may have been ahead. The store
 * answers `signature_reused` to
 *
 * - the same use again, if the listing has changed or is gone; otherwise it gets its first answer, before
 *   other checks;
 * - another body with the same signature, operation and listing, after `not_found` and `not_owner`;
 * - an unknown use of a spent signature, wherever the clock is set. Of more than `SPENT_SIGNATURES` those that expire first are
 *   dropped, and an unknown use that expires no later than a dropped one is refused: it may be that one.
 */
export type UsedSignature = {
  /** Hash of the canonical form. */
  signature: string
  body: string
  /** The same for all uses of the signature. */
  expiresAt: Micros
  /** By the clock that accepted the signature. */
  now: Micros
}

/** About 15 MB. In a Registry that is less busy they are those of the last hours or days. */
export const SPENT_SIGNATURES = 100_000

/**
 * A write of the signed line, for the replay guard. Its id is used once: the store remembers it like a used signature, and
 *
 * - answers `changed_reuse` to the same id with another request, and to an id whose request is no longer remembered;
 * - gives the answer of a request that was settled;
 * - answers `in_progress` while another try has it, for `LEASE_MICROS` at most. The next try then gets the receipt of a mutation
 *   that was made, which is not made twice.
 */
export type WriteRequest = {
  /** Hash of the principal and the request id. */
  requestKey: string
  /** Equal for the same request, whatever its time. */
  hash: string
  /** Of this try; the latest counts. */
  expiresAt: Micros
  /** By the clock that accepted the request. */
  now: Micros
}

export const LEASE_MICROS = 30_000_000

/** `body` is JSON text, `''` for none. */
export type RecordedAnswer = { status: number; body: string }

export type Reservation =
  | { outcome: 'reserved' | 'in_progress' | 'changed_reuse' }
  | { outcome: 'answered'; answer: RecordedAnswer }

/** Of the plain line, or of the signed one. */
export type Use = UsedSignature | WriteRequest

export const isWriteRequest = (use: Use): use is WriteRequest => 'requestKey' in use

export type SignedOperation = 'publish' | 'update' | 'remove'

/** One signature may publish several listings. */
export type UseKey = { operation: SignedOperation; listingId: string; signature: string }

export type PublishCommand = {
  identity: PublisherIdentity
  listingId: string
  /** Replaces the publisher's URL unless it is `''` or `null`, which only a new publisher gets. */
  storefrontUrl: string | null
  fields: Partial<ListingFields>
  /** `null` keeps the status; a new listing is `open`. */
  status: ListingStatus | null
  /** Of one publisher, whatever their status; 0 for unlimited. */
  maxListings: number
  /** API key of the request; `null` if writes need none. */
  keyId: number | null
  expected?: Expected
  use: Use
}

/**
 * A signature covers no listing, and sellers publish several with one. For this long after its first use it is good for further
 * listings. Where both requests needed an API key, it is good for that key instead.
 */
export const SIGNATURE_SHARED_MICROS = 5_000_000

/** The required `updated_at`, `null` for a new listing; otherwise `changed`. Default: any. */
export type Expected = Micros | null | undefined

export type PublishOutcome =
  | { outcome: 'published'; record: PublishReceipt }
  /** The publisher has replaced this identity. Of updates and removals: `not_owner`. */
  | { outcome: 'retired' }
  | { outcome: 'not_owner' }
  /**
   * See `UsedSignature`; also a signature first used with another storefront URL, or with none, with another API key, or longer
   * than `SIGNATURE_SHARED_MICROS` ago.
   */
  | { outcome: 'signature_reused' }
  | { outcome: 'changed' }
  | { outcome: 'too_many_listings' }
  /** More than `MAX_LISTING_BYTES`. */
  | { outcome: 'too_large' }

export type UpdateCommand = {
  identity: PublisherIdentity
  listingId: string
  status: ListingStatus | null
  /** JSON text; `undefined` keeps it. */
  oracleAddress: string | undefined
  expected?: Expected
  use: Use
}

export type UpdateReceipt = Pick<ListingRecord, 'listingId' | 'status' | 'updatedAt'>

export type UpdateOutcome =
  | { outcome: 'updated'; record: UpdateReceipt }
  | { outcome: 'not_found' }
  | { outcome: 'not_owner' }
  | { outcome: 'signature_reused' }
  | { outcome: 'changed' }
  | { outcome: 'too_large' }

export type RemoveCommand = { identity: PublisherIdentity; listingId: string; use: Use }

export type RemoveOutcome = { outcome: 'removed' | 'not_found' | 'not_owner' | 'signature_reused' }

export type RotateCommand = { publisherId: number; intent: RotationIntent; use: WriteRequest }

/** Also of the same nonce and intent once more. */
type RotationRecorded = { outcome: 'recorded'; rotation: Rotation }

export type RotateOutcome =
  | RotationRecorded
  /** `bound`: the replacement is, or was, an identity of a publisher. */
  | { outcome: RotationRefusal | 'publisher_not_found' | 'bound' }

export type RetireCommand = {
  publisherId: number
  nonce: string
  identity: PublisherIdentity
  use: WriteRequest
}

export type RetireOutcome = RotationRecorded | { outcome: RetirementRefusal }

export type NewKey = Pick<ApiKey, 'name' | 'scope' | 'hash' | 'expiresAt'> & Partial<Pick<ApiKey, 'view'>>

/** Seconds; `Retry-After` (RFC 9110 section 10.2.3). */
const RETRY_AFTER = '5'

/** The replay guard makes it safe to send the same request again. */
export class StoreUnavailable extends EntrepotError {
  /** A few words without paths and values. */
  readonly reason: string
  /** The store has answered that nothing was done. */
  readonly isRefusal: boolean

  constructor(reason: string, cause?: unknown, isRefusal = false) {
    const detail =
      `The store cannot be used right now (${reason}). Nothing was acknowledged; the very same request may be sent ` +
      'again later.'
    super('unavailable', detail, { cause, headers: { 'Retry-After': RETRY_AFTER } })
    this.reason = reason
    this.isRefusal = isRefusal
  }
}

/** @throws StoreUnavailable if signatures of now expire no later than the latest that was dropped */
export function requireLaterUses(latestDropped: Micros): void {
  const refusedSeconds = latestDropped / MICROS_PER_SECOND - USE_SECONDS - nowMicros() / MICROS_PER_SECOND
  if (refusedSeconds < 0) return
  throw new StoreUnavailable(
    `the clock is ${formatAge(refusedSeconds)} behind signatures that were used and are not kept, so every request that is ` +
      'signed now is refused; set the clock right, or restore a backup from before it was ahead',
  )
}

const MICROS_PER_SECOND = 1_000_000

export const storeClosed = (): StoreUnavailable => new StoreUnavailable('this process is stopping')
