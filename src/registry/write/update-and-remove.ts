import { z } from 'zod'
import { isActive } from '../../domain/publisher.ts'
import type { EntrepotError } from '../../errors.ts'
import { objectMembers } from '../../json/members.ts'
import type { UpdateReceipt } from '../../store/store.ts'
import {
  invalidSignature,
  listingTooLarge,
  notFound,
  notOwnedByPrincipal,
  signatureReused,
} from '../errors.ts'
import { type Claim, countMutation, type Verified, verifyClaim } from '../verify-claim.ts'
import { type WriteContext, writeChecked } from './checked-write.ts'
import { type JsonBody, publishRequest, readStatus, requireTypes } from './request.ts'
import type { SignedWriter } from './signed-write.ts'

export const updateRequest = z
  .looseObject({
    ...publishRequest.pick({ signature: true, timestamp: true, status: true }).shape,
    oracle_address: publishRequest.shape.oracle_address.describe('Replaces the oracle; null clears it'),
  })
  .meta({ id: 'UpdateRequest', description: 'Signed over update_listing:<listing_id>:<timestamp>' })

export async function updateListing(
  listingId: string,
  body: JsonBody,
  context: WriteContext,
): Promise<UpdateReceipt> {
  const { signature, timestamp } = body.value
  const claim = { operation: 'update_listing', listingId, signature, timestamp, body: body.bytes } as const
  return update(listingId, body, await verifyOwner(claim, context), context)
}

/** Of the principal of a request of the signed line. @throws EntrepotError in the words of the signed line */
export async function updateSigned(
  listingId: string,
  body: JsonBody,
  writer: SignedWriter,
  context: WriteContext,
): Promise<UpdateReceipt> {
  const owner = await context.replica.ownerOf(listingId)
  const isOwner = owner !== null && isActive(owner, writer.identity, writer.use.now)
  const refusal = owner === null ? notFound() : isOwner ? null : notOwnedByPrincipal()
  return update(listingId, body, { ...signedMutation(writer), refusal }, context)
}

/**
 * Repeating the same delete succeeds while the listing is gone.
 * @throws EntrepotError `not_found`, `unauthorized`, `signature_reused`, `rate_limited`
 */
export async function removeListing(
  listingId: string,
  { signature, timestamp }: RemoveRequest,
  context: WriteContext,
): Promise<void> {
  const claim = { operation: 'delete_listing', listingId, signature, timestamp, body: NO_BODY } as const
  await remove(listingId, await verifyOwner(claim, context), context)
}

export async function removeSigned(
  listingId: string,
  writer: SignedWriter,
  context: WriteContext,
): Promise<void> {
  await remove(listingId, signedMutation(writer), context)
}

/** What both lines know of a change of a listing that exists. */
type Mutation = Pick<Verified | SignedWriter, 'identity' | 'use'> & {
  /** As far as this replica knows; the store decides. `null` if the signer owns the listing. */
  refusal: EntrepotError | null
  isRepeat: boolean
  /** Counts the mutation, once the listing it gives is known to be good. */
  admit: () => Promise<void>
  notOwner: () => EntrepotError
}

async function update(
  listingId: string,
  body: JsonBody,
  { identity, use, refusal, isRepeat, admit, notOwner }: Mutation,
  context: WriteContext,
): Promise<UpdateReceipt> {
  const status = readUnlessRefused(refusal, () => {
    requireTypes({ oracle_address: body.value.oracle_address ?? null })
    return readStatus(body.value)
  })
  const oracleAddress = oracleText(body)
  // The shape does not cover the status: a listing that does not fit can be closed.
  const fields = oracleAddress === undefined ? {} : { oracleAddress }
  const { result } = await writeChecked(
    { identity, listingId, storefrontUrl: null, fields, mayCreate: false, isRepeat },
    {
      admit,
      write: (expected) =>
        context.store.update({ identity, listingId, status, oracleAddress, use, expected }),
    },
    context,
  )
  if (result.outcome === 'not_found') throw notFound()
  if (result.outcome === 'not_owner') throw notOwner()
  if (result.outcome === 'signature_reused') throw signatureReused()
  if (result.outcome === 'too_large') throw listingTooLarge()
  await context.replica.catchUp()
  return result.record
}

async function remove(
  listingId: string,
  { identity, use, admit, notOwner }: Mutation,
  { store, replica }: WriteContext,
): Promise<void> {
  await admit()
  const { outcome } = await store.remove({ identity, listingId, use })
  if (outcome === 'not_found') throw notFound()
  if (outcome === 'not_owner') throw notOwner()
  if (outcome === 'signature_reused') throw signatureReused()
  await replica.catchUp()
}

/** Unreadable input was never accepted, so it is not a repeat and the earlier refusal wins. */
function readUnlessRefused<T>(refusal: EntrepotError | null, read: () => T): T {
  try {
    return read()
  } catch (cause) {
    throw refusal ?? cause
  }
}

/** JSON text; unlike on publish, `null` clears the oracle. */
function oracleText({ bytes }: JsonBody): string | undefined {
  const member = objectMembers(bytes).findLast(({ name }) => name === 'oracle_address')
  return member && Buffer.from(bytes.subarray(member.value.start, member.value.end)).toString('utf8')
}

type RemoveRequest = { signature: string | undefined; timestamp: number | undefined }

const NO_BODY = new Uint8Array()

type OwnerClaim = Pick<Claim, 'signature' | 'timestamp' | 'body'> & {
  operation: keyof typeof STORE_OPERATIONS
  listingId: string
}

/** The replay guard of the signed line has counted and admitted the request before. */
function signedMutation({ identity, use }: SignedWriter): Mutation {
  return {
    identity,
    use,
    refusal: null,
    isRepeat: false,
    admit: async () => {},
    notOwner: notOwnedByPrincipal,
  }
}

/** @throws EntrepotError `not_found` before any `unauthorized`, as the deployed protocol orders them */
async function verifyOwner(
  { listingId, ...claim }: OwnerClaim,
  { store, replica, verifier }: WriteContext,
): Promise<Mutation> {
  const owner = await replica.ownerOf(listingId)
  // A request without a signature is no repeat.
  if (owner === null && !(claim.signature && claim.timestamp)) throw notFound()
  let verified: Verified
  try {
    verified = verifyClaim({ ...claim, subject: listingId, signer: null, scheme: 'eip191' }, verifier)
  } catch (cause) {
    throw owner === null ? notFound() : cause
  }
  const { identity, use } = verified
  const { signature } = use
  const isRepeat = await store.hasUse({ operation: STORE_OPERATIONS[claim.operation], listingId, signature })
  const isOwner = owner !== null && isActive(owner, identity, use.now)
  const refusal = owner === null ? notFound() : isOwner ? null : invalidSignature()
  const isCounted = refusal === null && !isRepeat
  const admit = async () => {
    if (isCounted) await countMutation(verified, verifier)
  }
  return { identity, use, refusal, isRepeat, admit, notOwner: invalidSignature }
}

const STORE_OPERATIONS = { update_listing: 'update', delete_listing: 'remove' } as const
