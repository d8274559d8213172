import { fieldBytes, MAX_LISTING_BYTES, type PublishReceipt } from '../../domain/listing.ts'
import { isActive } from '../../domain/publisher.ts'
import { inTurns } from '../../domain/turns.ts'
import { EntrepotError, type Violation } from '../../errors.ts'
import type { PublishCommand, SignedOperation, Store, UpdateReceipt } from '../../store/store.ts'
import { refuseBlocked } from '../blocks.ts'
import {
  invalid,
  listingTooLarge,
  notFound,
  notOwner,
  retiredPrincipal,
  signatureReused,
  tooManyListings,
} from '../errors.ts'
import type { Projection } from '../projection.ts'
import { countMutation } from '../verify-claim.ts'
import type { Line, WriteContext } from './lines.ts'
import { checkChange } from './listing-shape.ts'
import {
  type IsFieldName,
  type JsonBody,
  readFields,
  readOracle,
  readStatus,
  readStorefrontUrl,
  requireTypes,
} from './request.ts'

type Change = Pick<PublishCommand, 'status' | 'fields' | 'storefrontUrl'>

type Outcome<Receipt> =
  | { outcome: 'published' | 'updated' | 'removed'; record: Receipt }
  | { outcome: keyof typeof REFUSALS | 'not_owner' }
  | { outcome: 'changed' }

/** What a seller does with a listing. */
export type Operation<Receipt> = {
  name: SignedOperation
  read: (body: JsonBody, isName: IsFieldName) => Change
  commit: (command: PublishCommand, store: Store) => Promise<Outcome<Receipt>>
}

export const PUBLISH: Operation<PublishReceipt> = {
  name: 'publish',
  read: ({ value, bytes }, isName) => ({
    status: readStatus(value),
    storefrontUrl: readStorefrontUrl(value),
    fields: readFields(bytes, isName),
  }),
  commit: (command, store) => store.publish(command),
}

export const UPDATE: Operation<UpdateReceipt> = {
  name: 'update',
  read: ({ value, bytes }) => {
    requireTypes({ oracle_address: value.oracle_address ?? null })
    return { status: readStatus(value), storefrontUrl: null, fields: readOracle(bytes) }
  },
  commit: ({ identity, listingId, status, fields, use, expected }, store) =>
    store.update({ identity, listingId, status, oracleAddress: fields.oracleAddress, use, expected }),
}

/** Repeating the same removal succeeds while the listing is gone. */
export const REMOVE: Operation<undefined> = {
  name: 'remove',
  read: () => ({ status: null, storefrontUrl: null, fields: {} }),
  commit: async ({ identity, listingId, use }, store) => {
    const { outcome } = await store.remove({ identity, listingId, use })
    return outcome === 'removed' ? { outcome, record: undefined } : { outcome }
  },
}

export type Written<Receipt> = {
  receipt: Receipt
  /** Violations of the shape by a listing that was accepted. */
  warnings: readonly Violation[]
}

/**
 * A write of either line, with the checks in the deployed protocol's order. What this replica knows decides the order of refusals;
 * the store decides, and may know the request from before. Resolves when this replica serves the listing.
 * @param listingId of an update and a removal
 * @throws EntrepotError in the words of the line; `invalid` has every violation of an enforced shape
 */
export async function write<Receipt>(
  line: Line,
  operation: Operation<Receipt>,
  { listingId: named = '', body }: { listingId?: string | undefined; body: JsonBody },
  context: WriteContext,
): Promise<Written<Receipt>> {
  const { store, replica } = context
  const { name } = operation
  const mayCreate = name === 'publish'
  const owner = mayCreate ? null : await replica.ownerOf(named)
  const asked = { operation: name, listingId: named, body, isKnown: owner !== null }
  const { identity, use, listingId } = line.verify(asked, context)
  const refusal = mayCreate
    ? replica.projection.isOwnedByAnother(listingId, identity) && notOwner()
    : owner === null
      ? notFound()
      : !isActive(owner, identity, use.now) && line.notOwner()
  const change = readUnlessRefused(refusal, () => operation.read(body, line.isName))
  const isRepeat =
    'signature' in use && (await store.hasUse({ operation: name, listingId, signature: use.signature }))
  // Before the shape, of which a large listing can have a violation for every two bytes.
  if (mayCreate && fieldBytes(change.fields) > MAX_LISTING_BYTES)
    throw isRepeat ? signatureReused() : refusal || listingTooLarge()
  if (mayCreate && !isRepeat && !refusal) requireTypes(body.value, line.isName)
  const { maxListings } = context
  const command = { ...change, identity, listingId, use, maxListings, keyId: line.keyId }
  if (name !== 'remove') refuseBlocked(replica.projection, command, context)

  const admit = async () => {
    if (refusal || isRepeat) return
    await inTurns(requireRoomForUrl(command, replica.projection))
    if ('signature' in use) await countMutation({ identity }, context.verifier)
  }
  const { result, warnings } = await commitChecked(operation, command, { isRepeat, admit }, context)
  if (!('record' in result)) {
    if (result.outcome === 'not_owner') throw mayCreate ? notOwner() : line.notOwner()
    throw REFUSALS[result.outcome](maxListings)
  }
  await replica.catchUp()
  const publisher = change.storefrontUrl ? replica.projection.publisherOf(identity) : null
  if (publisher !== null) await replica.projection.storefrontUpdated(publisher.publisherId)
  return { receipt: result.record, warnings }
}

const REFUSALS = {
  not_found: notFound,
  retired: retiredPrincipal,
  signature_reused: signatureReused,
  too_large: listingTooLarge,
  too_many_listings: tooManyListings,
} as const

/** Under `enforce`, writes only to the version of the listing that was checked, and checks a newer one again. */
async function commitChecked<Receipt>(
  { name, commit }: Operation<Receipt>,
  command: PublishCommand,
  { isRepeat, admit }: { isRepeat: boolean; admit: () => Promise<void> },
  { store, replica, shape: { mode, check } }: WriteContext,
) {
  const isEnforced = mode === 'enforce' && !isRepeat
  const mayCreate = name === 'publish'
  for (let tries = 1; tries <= MAX_TRIES; tries++) {
    const { projection } = replica
    const { violations, expected } = checkChange(command, mode === 'off' ? null : check, {
      projection,
      mayCreate,
    })
    if (isEnforced && violations.length > 0) {
      const isOthers = projection.isOwnedByAnother(command.listingId, command.identity)
      throw isOthers ? notOwner() : invalid(violations, { prefix: `${MISFIT}: `, logged: MISFIT })
    }
    if (tries === 1) await admit()
    const result = await commit(isEnforced ? { ...command, expected } : command, store)
    if (result.outcome !== 'changed') return { result, warnings: mode === 'warn' ? violations : [] }
    await replica.catchUp()
  }
  throw new EntrepotError(
    'unavailable',
    'The listing changes faster than it can be checked; send the request again',
    { headers: { 'Retry-After': '1' } },
  )
}

/** Each failed try means that another write succeeded. */
const MAX_TRIES = 20

/** The paths of violations have names that the seller chose. */
const MISFIT = 'The listing does not fit the listing shape'

/** Unreadable input was never accepted, so it is not a repeat and the earlier refusal wins. */
function readUnlessRefused<T>(refusal: EntrepotError | false, read: () => T): T {
  try {
    return read()
  } catch (cause) {
    throw refusal || cause
  }
}

/**
 * The URL is part of every listing of its publisher; the store checks only the one that is published.
 * @throws EntrepotError `invalid` if another listing becomes too large, as far as this replica knows
 */
function* requireRoomForUrl(
  { identity, listingId, storefrontUrl }: Pick<PublishCommand, 'identity' | 'listingId' | 'storefrontUrl'>,
  projection: Projection,
): Generator<void, void> {
  const publisher = projection.publisherOf(identity)
  if (!storefrontUrl || publisher === null) return
  const growth = jsonBytes(storefrontUrl) - jsonBytes(publisher.storefrontUrl)
  if (growth <= 0) return
  for (const id of projection.index.listingIdsOf(new Set([publisher.publisherId]))) {
    yield
    const row = projection.listing(id)
    if (row === undefined || id === listingId || row.bytes.length + growth <= MAX_LISTING_BYTES) continue
    const message = `the listing ${JSON.stringify(row.listingId)} would be larger than ${MAX_LISTING_BYTES} bytes with it`
    throw invalid([{ path: 'body.storefront_url', message }], { limit: 'listing_bytes' })
  }
}

function jsonBytes(value: string | null): number {
  return Buffer.byteLength(JSON.stringify(value))
}
