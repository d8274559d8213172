import type { Publishing } from './publish.ts'
import { notFound, notOwner, signatureReused } from './refusals.ts'
import { verifyClaim } from './signature.ts'

/** What a delete carries in its query. */
export type RemoveRequest = { signature: string | undefined; timestamp: number | undefined }

/**
 * Deletes a listing, signed by its owner (`protocol.md` 1.9). The very same delete again succeeds again, and takes
 * nothing that was published in between (`protocol.md` 8, Replay).
 */
export const removeListing = async (
  listingId: string,
  { signature, timestamp }: RemoveRequest,
  { store, replica, verifier }: Publishing,
): Promise<void> => {
  const owner = await replica.ownerOf(listingId)
  // Without a signature there is nothing that could have been done before.
  if (owner === null && (!signature || timestamp === undefined)) throw notFound()
  const { identity, use } = await verifyClaim(
    {
      operation: 'delete_listing',
      subject: listingId,
      signer: owner?.identifier ?? null,
      scheme: owner?.scheme ?? 'eip191',
      signature,
      timestamp,
      body: new Uint8Array(),
    },
    verifier,
  ).catch((cause) => {
    throw owner === null ? notFound() : cause
  })
  const { outcome } = await store.remove({ identity, listingId, use })
  if (outcome === 'not_found') throw notFound()
  if (outcome === 'not_owner') throw notOwner()
  if (outcome === 'signature_reused') throw signatureReused()
  await replica.catchUp()
}
