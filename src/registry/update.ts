import { z } from 'zod'
import { objectMembers } from '../domain/json-members.ts'
import type { ListingRecord } from '../domain/listing.ts'
import type { EntrepotError } from '../errors.ts'
import { countChange, verifyOwnerClaim } from './owner-claim.ts'
import type { Publishing } from './publish.ts'
import { type JsonBody, publishRequest, readStatus, requireScalars } from './publish-request.ts'
import { invalidSignature, listingTooLarge, notFound, signatureReused } from './refusals.ts'

/** The body of `PUT /listings/{id}`; other members are ignored. */
export const updateRequest = z
  .looseObject({
    ...publishRequest.pick({ signature: true, timestamp: true, status: true }).shape,
    oracle_address: publishRequest.shape.oracle_address.describe('Replaces the oracle; null clears it'),
  })
  .meta({ id: 'UpdateRequest', description: 'Signed over update_listing:<listing_id>:<timestamp>' })

/** Changes a listing's status or oracle, signed by its owner. */
export const updateListing = async (
  listingId: string,
  body: JsonBody,
  publishing: Publishing,
): Promise<Pick<ListingRecord, 'listingId' | 'status' | 'updatedAt'>> => {
  const { signature, timestamp } = body.value
  const claim = { operation: 'update_listing', listingId, signature, timestamp, body: body.bytes } as const
  const verified = await verifyOwnerClaim(claim, publishing)
  const { identity, use, refusal } = verified
  const status = readBehind(refusal, () => {
    requireScalars(body.value, 'oracle_address')
    return readStatus(body.value)
  })
  await countChange(verified, { operation: 'update', listingId }, publishing)
  const result = await publishing.store.update({
    identity,
    listingId,
    status,
    oracleAddress: oracleText(body),
    use,
  })
  if (result.outcome === 'not_found') throw notFound()
  if (result.outcome === 'not_owner') throw invalidSignature()
  if (result.outcome === 'signature_reused') throw signatureReused()
  if (result.outcome === 'too_large') throw listingTooLarge()
  await publishing.replica.catchUp()
  return result.record
}

/** What cannot be read repeats no request that was accepted, so the refusal that comes first is due. */
const readBehind = <T>(refusal: EntrepotError | null, read: () => T): T => {
  try {
    return read()
  } catch (cause) {
    throw refusal ?? cause
  }
}

/** The oracle as JSON text; here, unlike on publish, `null` clears it. */
const oracleText = ({ bytes }: JsonBody): string | undefined => {
  const member = objectMembers(bytes).findLast(({ name }) => name === 'oracle_address')
  return member && Buffer.from(bytes.subarray(member.value.start, member.value.end)).toString('utf8')
}
