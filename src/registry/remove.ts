import { verifyOwnerClaim } from './owner-claim.ts'
import type { Publishing } from './publish.ts'
import { invalidSignature, notFound, signatureReused } from './refusals.ts'
import { countMutation } from './signature.ts'

type RemoveRequest = { signature: string | undefined; timestamp: number | undefined }

/**
 * Repeating the same delete succeeds while the listing is gone.
 * @throws EntrepotError `not_found`, `unauthorized`, `signature_reused`, `rate_limited`
 */
export async function removeListing(
  listingId: string,
  { signature, timestamp }: RemoveRequest,
  publishing: Publishing,
): Promise<void> {
  const claim = { operation: 'delete_listing', listingId, signature, timestamp, body: NO_BODY } as const
  const claimed = await verifyOwnerClaim(claim, publishing)
  const { identity, use, refusal, isRepeat } = claimed
  if (refusal === null && !isRepeat) await countMutation(claimed, publishing.verifier)
  const { outcome } = await publishing.store.remove({ identity, listingId, use })
  if (outcome === 'not_found') throw notFound()
  if (outcome === 'not_owner') throw invalidSignature()
  if (outcome === 'signature_reused') throw signatureReused()
  await publishing.replica.catchUp()
}

const NO_BODY = new Uint8Array()
