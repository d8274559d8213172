import { type JsonObject, parseJson } from '../domain/json.ts'
import type { ListingFields } from '../domain/listing.ts'
import { parseTimestamp } from '../domain/timestamp.ts'
import { EntrepotError, type Violation } from '../errors.ts'
import type { Expected, Identity } from '../store/store.ts'
import { candidateOf } from './listing-shape.ts'
import type { Publishing } from './publish.ts'
import { invalid, notOwner } from './refusals.ts'

/** Tries until a listing stands still for the time of a check and a write: each failure is another's success. */
const MAX_TRIES = 20

/** A change to a listing as the listing shape sees it. */
type ListingChange = {
  identity: Identity
  listingId: string
  storefrontUrl: string | null
  fields: Partial<ListingFields>
  /** Whether the listing is created where there is none. */
  mayCreate: boolean
  /** The store knows its signature: the answer is the earlier one, or a refusal. */
  isRepeat: boolean
}

type Writing<T> = {
  /** Called once, behind the first check. */
  admit: () => Promise<void>
  write: (expected: Expected) => Promise<T | { outcome: 'changed' }>
}

/**
 * Writes a change that the listing shape was asked about. Under `enforce` it is written only to the listing that was
 * checked, and checked again where that has changed meanwhile.
 * @returns with `warnings`: where the listing does not fit although it is taken
 * @throws EntrepotError `invalid` with every violation under `enforce`; `forbidden` instead where the listing is another
 *   publisher's; `unavailable` where the listing does not stand still
 */
export async function writeChecked<T>(
  change: ListingChange,
  { admit, write }: Writing<T>,
  { replica, shape }: Publishing,
): Promise<{ result: T; warnings: Violation[] }> {
  const isEnforced = shape.mode === 'enforce' && !change.isRepeat
  for (let tries = 1; tries <= MAX_TRIES; tries++) {
    const { violations, expected, isTaken } = checkShape(change, { replica, shape })
    if (isEnforced && violations.length > 0)
      throw isTaken ? notOwner() : invalid(violations, 'The listing does not fit the listing shape: ')
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

type Checked = { violations: Violation[]; expected: Expected; isTaken: boolean }

/**
 * The violations of the listing as it would be after the change, as far as this replica knows it. A listing of another
 * publisher counts as none: the store refuses the change unless that listing has gone.
 */
function checkShape(
  { identity, listingId, storefrontUrl, fields, mayCreate }: ListingChange,
  { replica: { projection }, shape }: Pick<Publishing, 'replica' | 'shape'>,
): Checked {
  const owner = projection.ownerOf(listingId)
  const isTaken = owner !== null && owner.identifier !== identity.identifier
  const isOutside = Object.keys(fields).length === 0 && !mayCreate
  if (shape.mode === 'off' || isOutside) return { violations: [], expected: undefined, isTaken }
  const stored = isTaken ? null : storedRow(projection.listings.get(listingId)?.bytes)
  const expected = stored === null ? null : parseTimestamp(String(stored.updated_at))
  if (stored === null && !mayCreate) return { violations: [], expected, isTaken }
  const publisher = projection.publisherOf(identity.identifier)
  const url = storefrontUrl || publisher === null ? storefrontUrl : publisher.storefrontUrl
  return { violations: shape.check(candidateOf(listingId, url, fields, stored)), expected, isTaken }
}

function storedRow(bytes: Uint8Array | undefined): JsonObject | null {
  return bytes === undefined ? null : (parseJson(Buffer.from(bytes).toString('utf8')) as JsonObject)
}

function isChanged<T>(result: T | { outcome: 'changed' }): result is { outcome: 'changed' } {
  return (result as { outcome?: unknown }).outcome === 'changed'
}
