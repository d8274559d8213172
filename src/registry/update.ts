import { z } from 'zod'
import type { EntrepotError } from '../errors.ts'
import { objectMembers } from '../json/members.ts'
import type { UpdateReceipt } from '../store/store.ts'
import { writeChecked } from './checked-write.ts'
import { verifyOwnerClaim } from './owner-claim.ts'
import type { Publishing } from './publish.ts'
import { type JsonBody, publishRequest, readStatus, requireScalars } from './publish-request.ts'
import { invalidSignature, listingTooLarge, notFound, signatureReused } from './refusals.ts'
import { countMutation } from './signature.ts'

export const updateRequest = z
  .looseObject({
    ...publishRequest.pick({ signature: true, timestamp: true, status: true }).shape,
    oracle_address: publishRequest.shape.oracle_address.describe('Replaces the oracle; null clears it'),
  })
  .meta({ id: 'UpdateRequest', description: 'Signed over update_listing:<listing_id>:<timestamp>' })

export async function updateListing(
  listingId: string,
  body: JsonBody,
  publishing: Publishing,
): Promise<UpdateReceipt> {
  const { store, replica, verifier } = publishing
  const { signature, timestamp } = body.value
  const claim = { operation: 'update_listing', listingId, signature, timestamp, body: body.bytes } as const
  const claimed = await verifyOwnerClaim(claim, publishing)
  const { identity, use, refusal, isRepeat } = claimed
  const status = readBehind(refusal, () => {
    requireScalars(body.value, 'oracle_address')
    return readStatus(body.value)
  })
  const oracleAddress = oracleText(body)
  // The shape does not cover the status: a listing that does not fit can be closed.
  const fields = oracleAddress === undefined ? {} : { oracleAddress }
  const { result } = await writeChecked(
    { identity, listingId, storefrontUrl: null, fields, mayCreate: false, isRepeat },
    {
      admit: async () => {
        if (refusal === null && !isRepeat) await countMutation(claimed, verifier)
      },
      write: (expected) => store.update({ identity, listingId, status, oracleAddress, use, expected }),
    },
    publishing,
  )
  if (result.outcome === 'not_found') throw notFound()
  if (result.outcome === 'not_owner') throw invalidSignature()
  if (result.outcome === 'signature_reused') throw signatureReused()
  if (result.outcome === 'too_large') throw listingTooLarge()
  await replica.catchUp()
  return result.record
}

/** Unreadable input was never accepted, so it is not a repeat and the earlier refusal wins. */
function readBehind<T>(refusal: EntrepotError | null, read: () => T): T {
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
