import {
  fieldBytes,
  MAX_LISTING_BYTES,
  NEW_LISTING_FIELDS,
  type PublishReceipt,
} from '../../domain/listing.ts'
import { isActive, type PublisherIdentity } from '../../domain/publisher.ts'
import { inTurns } from '../../domain/turns.ts'
import type { EntrepotError, Violation } from '../../errors.ts'
import { publisherOf } from '../../signing/principal.ts'
import type { PublishCommand, SignedOperation, UpdateReceipt } from '../../store/commands.ts'
import type { Store } from '../../store/store.ts'
import { refuseBlocked } from '../blocks.ts'
import {
  invalid,
  listingTooLarge,
  notFound,
  notOwner,
  rateLimited,
  retiredPrincipal,
  signatureReused,
  tooManyListings,
} from '../errors.ts'
import type { Projection } from '../projection.ts'
import type { Verifier } from '../verify-claim.ts'
import type { Line, WriteContext } from './lines.ts'
import { candidateOf } from './listing-shape.ts'
import {
  type IsFieldName,
  isFieldName,
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
  | { outcome: 'unfit'; violations: readonly Violation[] }

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
  commit: ({ identity, listingId, status, fields, use, check }, store) =>
    store.update({ identity, listingId, status, oracleAddress: fields.oracleAddress, use, check }),
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
    'signature' in use &&
    (await store.hasUse({ operation: name, listingId, signature: use.signature }, identity))
  // Before the shape, of which a large listing can have a violation for every two bytes.
  if (mayCreate && fieldBytes(change.fields) > MAX_LISTING_BYTES)
    throw isRepeat ? signatureReused() : refusal || listingTooLarge()
  if (mayCreate && !isRepeat && !refusal) requireTypes(body.value, line.isName)
  const { maxListings } = context
  const command = { ...change, identity, listingId, use, maxListings, keyId: line.keyId }
  if (name !== 'remove') refuseBlocked(replica.projection, command, context)

  const { mode } = context.shape
  const check = checkOf(operation, command, context)
  const violations =
    check === null ? [] : violationsKnown(command, check, { projection: replica.projection, mayCreate })
  const isEnforced = mode === 'enforce' && !isRepeat
  if (isEnforced && violations.length > 0) throw refusal || misfit(violations)
  if (!refusal && !isRepeat) {
    await inTurns(requireRoomForUrl(command, replica.projection))
    if ('signature' in use) await countMutation(identity, context.verifier)
  }
  const result = await operation.commit(isEnforced && check !== null ? { ...command, check } : command, store)
  if (result.outcome === 'unfit') throw misfit(result.violations)
  if (!('record' in result)) {
    if (result.outcome === 'not_owner') throw mayCreate ? notOwner() : line.notOwner()
    throw REFUSALS[result.outcome](maxListings)
  }
  await replica.catchUp()
  const publisher = change.storefrontUrl ? replica.projection.publisherOf(identity) : null
  if (publisher !== null) await replica.projection.storefrontUpdated(publisher.publisherId)
  return { receipt: result.record, warnings: mode === 'warn' ? violations : [] }
}

const REFUSALS = {
  not_found: notFound,
  retired: retiredPrincipal,
  signature_reused: signatureReused,
  too_large: listingTooLarge,
  too_many_listings: tooManyListings,
} as const

type Check = NonNullable<PublishCommand['check']>

/** `null`: the shape covers no status, so a listing that does not fit can be closed. */
function checkOf<Receipt>(
  { name }: Operation<Receipt>,
  { listingId, fields }: PublishCommand,
  { shape: { mode, check } }: WriteContext,
): Check | null {
  const isCovered = name === 'publish' || Object.keys(fields).length > 0
  if (mode === 'off' || !isCovered) return null
  return (merged, storefrontUrl) => check(candidateOf(listingId, merged, storefrontUrl))
}

/** As far as this replica knows; the store asks again. Ignores another publisher's listing, which may be gone. */
function violationsKnown(
  { identity, listingId, storefrontUrl, fields }: PublishCommand,
  check: Check,
  { projection, mayCreate }: { projection: Projection; mayCreate: boolean },
): readonly Violation[] {
  const row = projection.isOwnedByAnother(listingId, identity) ? null : projection.listing(listingId)
  if (!row && !mayCreate) return []
  const stored = row ? readFields(row.bytes, isFieldName) : {}
  const publisher = projection.publisherOf(identity)
  const url = storefrontUrl || publisher === null ? storefrontUrl : publisher.storefrontUrl
  return check({ ...NEW_LISTING_FIELDS, ...stored, ...fields }, url)
}

/** The paths of violations have names that the seller chose. */
const MISFIT = 'The listing does not fit the listing shape'

const misfit = (violations: readonly Violation[]): EntrepotError =>
  invalid(violations, { prefix: `${MISFIT}: `, logged: MISFIT })

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

/**
 * Must not count a known use: an observer of a signed request could resend it to use up the publisher's limit.
 * @throws EntrepotError `rate_limited`
 */
async function countMutation(
  identity: PublisherIdentity,
  { limiter }: Pick<Verifier, 'limiter'>,
): Promise<void> {
  const state = await limiter('publish', `publisher:${publisherOf(identity)}`)
  if (state?.exceeded) throw rateLimited('publisher', state)
}

function jsonBytes(value: string | null): number {
  return Buffer.byteLength(JSON.stringify(value))
}
