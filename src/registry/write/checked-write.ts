import type { ListingShapeMode } from '../../config/gateway-file.ts'
import type { ListingFields } from '../../domain/listing.ts'
import type { PublisherIdentity } from '../../domain/publisher.ts'
import { parseTimestamp } from '../../domain/timestamp.ts'
import { EntrepotError, type Violation } from '../../errors.ts'
import { type JsonObject, parseJson } from '../../json/value.ts'
import type { Expected, Store } from '../../store/store.ts'
import { type LocalRules, refuseBlocked } from '../blocks.ts'
import { invalid, notOwner } from '../errors.ts'
import type { Replica } from '../replica.ts'
import type { Verifier } from '../verify-claim.ts'
import { candidateOf, type ShapeCheck } from './listing-shape.ts'

/** Each failed try means that another write succeeded. */
const MAX_TRIES = 20

export type WriteContext = LocalRules & {
  store: Store
  replica: Replica
  verifier: Verifier
  shape: { mode: ListingShapeMode; check: ShapeCheck }
  /** Of one publisher; 0 for unlimited. */
  maxListings: number
  requiresKey: boolean
}

type ListingChange = {
  identity: PublisherIdentity
  listingId: string
  storefrontUrl: string | null
  fields: Partial<ListingFields>
  mayCreate: boolean
  /** The store knows the signature: it answers as before or refuses. */
  isRepeat: boolean
}

type Writing<T> = {
  admit: () => Promise<void>
  write: (expected: Expected) => Promise<T | { outcome: 'changed' }>
}

/**
 * Under `enforce`, writes only to the version of the listing that was checked, and checks a newer one again.
 * @returns `warnings`: violations of a listing that was accepted
 * @throws EntrepotError `invalid`, `forbidden` (another publisher's listing), `unavailable` (keeps changing)
 */
export async function writeChecked<T>(
  change: ListingChange,
  { admit, write }: Writing<T>,
  { replica, shape, ...local }: WriteContext,
): Promise<{ result: T; warnings: Violation[] }> {
  refuseBlocked(replica.projection, change, local)
  const isEnforced = shape.mode === 'enforce' && !change.isRepeat
  for (let tries = 1; tries <= MAX_TRIES; tries++) {
    const { violations, expected, isOwnedByAnother } = checkShape(change, { replica, shape })
    if (isEnforced && violations.length > 0)
      throw isOwnedByAnother ? notOwner() : invalid(violations, { prefix: `${MISFIT}: `, logged: MISFIT })
    if (tries === 1) await admit()
    const result = await write(isEnforced ? expected : undefined)
    if (!isChanged(result)) return { result, warnings: shape.mode === 'warn' ? violations : [] }
    await replica.catchUp()
  }
  throw new EntrepotError(
    'unavailable',
    'The listing changes faster than it can be checked; send the request again',
    { headers: { 'Retry-After': '1' } },
  )
}

/** The paths of violations have names that the seller chose. */
const MISFIT = 'The listing does not fit the listing shape'

type Checked = { violations: Violation[]; expected: Expected; isOwnedByAnother: boolean }

/** Ignores another publisher's listing: the store refuses the change unless that listing is gone. */
function checkShape(
  { identity, listingId, storefrontUrl, fields, mayCreate }: ListingChange,
  { replica: { projection }, shape }: Pick<WriteContext, 'replica' | 'shape'>,
): Checked {
  const isOwnedByAnother = projection.isOwnedByAnother(listingId, identity)
  const isOutside = Object.keys(fields).length === 0 && !mayCreate
  if (shape.mode === 'off' || isOutside) return { violations: [], expected: undefined, isOwnedByAnother }
  const stored = isOwnedByAnother ? null : storedRow(projection.listings.get(listingId)?.bytes)
  const expected = stored === null ? null : parseTimestamp(String(stored.updated_at))
  if (stored === null && !mayCreate) return { violations: [], expected, isOwnedByAnother }
  const publisher = projection.publisherOf(identity)
  const url = storefrontUrl || publisher === null ? storefrontUrl : publisher.storefrontUrl
  return { violations: shape.check(candidateOf(listingId, url, fields, stored)), expected, isOwnedByAnother }
}

function storedRow(bytes: Uint8Array | undefined): JsonObject | null {
  return bytes === undefined ? null : (parseJson(Buffer.from(bytes).toString('utf8')) as JsonObject)
}

function isChanged<T>(result: T | { outcome: 'changed' }): result is { outcome: 'changed' } {
  return (result as { outcome?: unknown }).outcome === 'changed'
}
