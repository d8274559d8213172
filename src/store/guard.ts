import { type ListingRecord, USE_SECONDS } from '../domain/listing.ts'
import { formatAge, type Micros, nowMicros } from '../domain/timestamp.ts'
import {
  isWriteRequest,
  type PublishCommand,
  type RecordedAnswer,
  type RemoveCommand,
  type Reservation,
  type SignedOperation,
  type UsedSignature,
  type UseKey,
  type WriteRequest,
} from './commands.ts'
import { type Place, placeOf, type Row, StoreUnavailable } from './rows.ts'
import type { Draft } from './writer.ts'

/** Of the space `facts`: which uses are not kept, or good for nothing any more. */
export const DROPPED_USES = 'dropped uses'

/** An unknown use that expires by then may be one that was dropped; a known one of that time or before is of another store. */
type DroppedUses = { expiredBy: Micros; closedAt: Micros }

export const droppedUses = (row: Row | null): DroppedUses =>
  row === null ? { expiredBy: 0, closedAt: 0 } : JSON.parse(row.value)

/** After uses went. */
export function dropUses(draft: Draft, going: readonly Row[]): void {
  const { expiredBy, closedAt } = droppedUses(draft.get('facts', DROPPED_USES))
  const latest = Math.max(expiredBy, ...going.map(expiryOf))
  draft.put('facts', DROPPED_USES, JSON.stringify({ expiredBy: latest, closedAt }))
}

/** @throws StoreUnavailable if signatures of now expire no later than the latest that was dropped */
export function requireLaterUses(dropped: Row | null): void {
  const { expiredBy } = droppedUses(dropped)
  const refusedSeconds = (expiredBy - nowMicros()) / MICROS_PER_SECOND - USE_SECONDS
  if (refusedSeconds < 0) return
  throw new StoreUnavailable(
    `the clock is ${formatAge(refusedSeconds)} behind signatures that were used and are not kept, so every request that is ` +
      'signed now is refused; set the clock right, or restore a backup from before it was ahead',
  )
}

const MICROS_PER_SECOND = 1_000_000

/**
 * A used signature. One that publishes is a row of its first listing, which has what the signature is bound to; other listings,
 * and other operations, have rows of their own.
 */
type UseRow = { expiresAt: Micros; body: string; listingId?: string; first?: FirstUse }
type FirstUse = { url: string | null; keyId: number | null; now: Micros }

const useKey = ({ signature, operation, listingId }: UseKey): string =>
  `${signature} ${operation} ${listingId}`

/**
 * What is known of a use. A repeat of a request of the signed line has its receipt, whatever has changed since. A repeat of a used
 * signature has none (`undefined`: the listing says it), or `null` where the listing has changed.
 */
type Checked<Receipt> =
  | { isRepeat: true; receipt: Receipt | undefined | null }
  | { isRepeat: false; isReused: boolean }

export function checkUse<Receipt>(
  draft: Draft,
  operation: SignedOperation,
  { listingId, use }: RemoveCommand,
  existing: ListingRecord | null,
): Checked<Receipt> {
  if (isWriteRequest(use)) {
    const receipt = receiptOf<Receipt>(draft, use)
    return receipt === undefined ? { isRepeat: false, isReused: false } : { isRepeat: true, receipt }
  }
  const { expiredBy, closedAt } = droppedUses(draft.get('facts', DROPPED_USES))
  const row = useRow(draft, { operation, listingId, signature: use.signature })
  if (row === null) return { isRepeat: false, isReused: use.expiresAt <= expiredBy }
  if (row.at <= closedAt || useOf(row).body !== use.body) return { isRepeat: false, isReused: true }
  // Times rise with every change.
  const isTrue = operation === 'remove' ? existing === null : existing?.updatedAt === row.at
  return { isRepeat: true, receipt: isTrue ? undefined : null }
}

/** @param rows of `placesOf`, the first ones */
export function hasUse({ operation, listingId }: UseKey, rows: readonly (Row | null)[]): boolean {
  const [first, other] = operation === 'publish' ? rows : [null, rows[0]]
  return !!other || (!!first && useOf(first).listingId === listingId)
}

function useRow(draft: Draft, key: UseKey): Row | null {
  const first = key.operation === 'publish' ? draft.get('guard', key.signature) : null
  return first !== null && useOf(first).listingId === key.listingId ? first : draft.get('guard', useKey(key))
}

const useOf = (row: Row): UseRow => JSON.parse(row.value)

/**
 * A signature covers no listing, and sellers publish several with one. For this long after its first use it is good for further
 * listings. Where both requests needed an API key, it is good for that key instead.
 */
export const SIGNATURE_SHARED_MICROS = 5_000_000

/** A captured signature moves no storefront, and changes no other listing of its publisher. */
export function isCaptured(draft: Draft, { storefrontUrl, keyId, use }: PublishCommand): boolean {
  const row = isWriteRequest(use) ? null : draft.get('guard', use.signature)
  if (row === null) return false
  const { first } = useOf(row) as Required<UseRow>
  if (row.at <= droppedUses(draft.get('facts', DROPPED_USES)).closedAt) return true
  if (storefrontUrl && storefrontUrl !== first.url) return true
  if (keyId !== null && first.keyId !== null) return keyId !== first.keyId
  // The rows' time counts too: the clock that accepts signatures may have been set back to the first use.
  return Math.max(Math.abs(use.now - first.now), draft.now - row.at) > SIGNATURE_SHARED_MICROS
}

/** @param at of the change, so that a repeat of a signature knows whether the listing is still as it left it */
export function rememberUse(
  draft: Draft,
  operation: SignedOperation,
  { listingId, use }: RemoveCommand,
  { at, receipt }: { at: Micros; receipt: unknown },
  publish?: Pick<PublishCommand, 'storefrontUrl' | 'keyId'>,
): void {
  if (isWriteRequest(use)) {
    putReceipt(draft, use, receipt)
    return
  }
  const { signature, expiresAt, body, now } = use
  const row: UseRow = { expiresAt, body }
  if (publish !== undefined && draft.get('guard', signature) === null) {
    const first: FirstUse = { url: publish.storefrontUrl || null, keyId: publish.keyId, now }
    draft.put('guard', signature, JSON.stringify({ ...row, listingId, first }), at)
  } else draft.put('guard', useKey({ operation, listingId, signature }), JSON.stringify(row), at)
}

/** A write of the signed line. `receipt`: what its mutation has answered. */
type RequestRow = {
  hash: string
  expiresAt: Micros
  leasedUntil: Micros
  receipt?: unknown
  answer?: RecordedAnswer
}

export const LEASE_MICROS = 30_000_000

export function reserve(draft: Draft, { requestKey, hash, expiresAt, now }: WriteRequest): Reservation {
  const { expiredBy, closedAt } = droppedUses(draft.get('facts', DROPPED_USES))
  const row = draft.get('guard', requestKey)
  const earlier = requestOf(row)
  const leased = { hash, expiresAt, leasedUntil: now + LEASE_MICROS }
  if (row === null || earlier === null) {
    if (expiresAt <= expiredBy) return { outcome: 'changed_reuse' }
    putRequest(draft, requestKey, leased)
    return { outcome: 'reserved' }
  }
  if (earlier.hash !== hash || earlier.expiresAt <= now || row.at <= closedAt)
    return { outcome: 'changed_reuse' }
  const extended = { ...earlier, expiresAt: Math.max(earlier.expiresAt, expiresAt) }
  const { answer, leasedUntil } = earlier
  // A clock that was set back makes no lease longer.
  const isLeased = leasedUntil > now && leasedUntil <= now + LEASE_MICROS
  if (answer !== undefined || isLeased) {
    if (extended.expiresAt > earlier.expiresAt) putRequest(draft, requestKey, extended)
    return answer === undefined ? { outcome: 'in_progress' } : { outcome: 'answered', answer }
  }
  putRequest(draft, requestKey, { ...extended, leasedUntil: leased.leasedUntil })
  return { outcome: 'reserved' }
}

/** The first answer stays. */
export function settle(draft: Draft, { requestKey }: WriteRequest, answer: RecordedAnswer | null): void {
  const earlier = requestOf(draft.get('guard', requestKey))
  if (earlier === null || earlier.answer !== undefined) return
  putRequest(draft, requestKey, { ...earlier, leasedUntil: 0, ...(answer !== null && { answer }) })
}

/** `undefined` before the mutation. */
export function receiptOf<Receipt>(draft: Draft, { requestKey }: WriteRequest): Receipt | undefined {
  return requestOf(draft.get('guard', requestKey))?.receipt as Receipt | undefined
}

/** A record that is gone stays gone. */
export function putReceipt(draft: Draft, { requestKey }: WriteRequest, receipt: unknown): void {
  const earlier = requestOf(draft.get('guard', requestKey))
  if (earlier !== null) putRequest(draft, requestKey, { ...earlier, receipt })
}

const requestOf = (row: Row | null): RequestRow | null => (row === null ? null : JSON.parse(row.value))

function putRequest(draft: Draft, requestKey: string, request: RequestRow): void {
  draft.put('guard', requestKey, JSON.stringify(request))
}

/** When a use or a request is not good by its own time any more. */
export const expiryOf = (row: Row): Micros => (JSON.parse(row.value) as { expiresAt: Micros }).expiresAt

export type UseName = Pick<WriteRequest, 'requestKey'> | Pick<UsedSignature, 'signature'>

/** What a rule reads of the guard. */
export function placesOf(operation: SignedOperation, listingId: string, use: UseName): Place[] {
  if ('requestKey' in use) return [placeOf('guard', use.requestKey)]
  const { signature } = use
  const place = placeOf('guard', useKey({ operation, listingId, signature }))
  return operation === 'publish' ? [placeOf('guard', signature), place] : [place]
}
