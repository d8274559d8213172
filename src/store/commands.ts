import type { ApiKey } from '../domain/api-key.ts'
import type { Block } from '../domain/block.ts'
import type { ListingFields, ListingRecord, ListingStatus, PublishReceipt } from '../domain/listing.ts'
import type {
  Publisher,
  PublisherIdentity,
  RetirementRefusal,
  Rotation,
  RotationIntent,
  RotationRefusal,
} from '../domain/publisher.ts'
import type { Micros } from '../domain/timestamp.ts'
import type { Violation } from '../errors.ts'
import type { Row } from './rows.ts'

/**
 * One use of a signature, for the replay guard. The store remembers an accepted use at least until the signature has expired by the
 * clock that accepts signatures, and answers `signature_reused` to
 *
 * - the same use again, if the listing has changed or is gone; otherwise it gets its first answer, before other checks;
 * - another body with the same signature, operation and listing, after `not_found` and `not_owner`;
 * - an unknown use that expires no later than one that is not remembered: it may be that one, wherever the clock is set.
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

/** Of the plain line, or of the signed one. */
export type Use = UsedSignature | WriteRequest

export const isWriteRequest = (use: Use): use is WriteRequest => 'requestKey' in use

/** `body` is JSON text, `''` for none. */
export type RecordedAnswer = { status: number; body: string }

export type Reservation =
  | { outcome: 'reserved' | 'in_progress' | 'changed_reuse' }
  | { outcome: 'answered'; answer: RecordedAnswer }

export type SignedOperation = 'publish' | 'update' | 'remove'

/** One signature may publish several listings. */
export type UseKey = { operation: SignedOperation; listingId: string; signature: string }

type ListingCommand = { identity: PublisherIdentity; listingId: string; use: Use }

/** By the shape of listings, of what a write makes of one. */
type Check = (fields: ListingFields, storefrontUrl: string | null) => readonly Violation[]

export type PublishCommand = ListingCommand & {
  /** Replaces the publisher's URL unless it is `''` or `null`, which only a new publisher gets. */
  storefrontUrl: string | null
  fields: Partial<ListingFields>
  /** `null` keeps the status; a new listing is `open`. */
  status: ListingStatus | null
  /** Of one publisher, whatever their status; 0 for unlimited. */
  maxListings: number
  /** API key of the request; `null` if writes need none. */
  keyId: number | null
  check?: Check | undefined
}

export type UpdateCommand = ListingCommand & {
  status: ListingStatus | null
  /** JSON text; `undefined` keeps it. */
  oracleAddress: string | undefined
  check?: Check | undefined
}

export type RemoveCommand = ListingCommand

export type UpdateReceipt = Pick<ListingRecord, 'listingId' | 'status' | 'updatedAt'>

/**
 * `signature_reused`: see `UsedSignature`; also of a signature that was first used with another storefront URL, or with none, with
 * another API key, or longer than `SIGNATURE_SHARED_MICROS` ago. `too_large`: more than `MAX_LISTING_BYTES`.
 */
type Refused = { outcome: 'not_owner' | 'signature_reused' | 'too_large' } | Unfit
type Unfit = { outcome: 'unfit'; violations: readonly Violation[] }

export type PublishOutcome =
  | { outcome: 'published'; record: PublishReceipt }
  /** `retired`: the publisher has replaced this identity. Of updates and removals: `not_owner`. */
  | { outcome: 'retired' | 'too_many_listings' }
  | Refused

export type UpdateOutcome = { outcome: 'updated'; record: UpdateReceipt } | { outcome: 'not_found' } | Refused

export type RemoveOutcome = { outcome: 'removed' | 'not_found' | 'not_owner' | 'signature_reused' }

export type RotateCommand = { publisherId: number; intent: RotationIntent; use: WriteRequest }

export type RetireCommand = {
  publisherId: number
  nonce: string
  identity: PublisherIdentity
  use: WriteRequest
}

/** Also of the same nonce and intent once more. */
type RotationRecorded = { outcome: 'recorded'; rotation: Rotation }

export type RotateOutcome =
  | RotationRecorded
  /** `bound`: the replacement is, or was, an identity of a publisher. */
  | { outcome: RotationRefusal | 'publisher_not_found' | 'bound' }

export type RetireOutcome = RotationRecorded | { outcome: RetirementRefusal }

export type NewKey = Pick<ApiKey, 'name' | 'scope' | 'hash' | 'expiresAt'> & Partial<Pick<ApiKey, 'view'>>

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
  listings(page: readonly Row[]): void | Promise<void>
}

/** As metrics name them; `read` is all reads of the changelog and the replay guard, `request` its records of the signed line. */
export const STORE_OPERATIONS = [
  'publish',
  'update',
  'delete',
  'request',
  'key',
  'block',
  'audit',
  'ping',
  'read',
] as const
export type StoreOperation = (typeof STORE_OPERATIONS)[number]

/** `failure`: `null` for a call that was answered. */
export type StoreCall = { operation: StoreOperation; seconds: number; failure: unknown }
