import type { EntrepotError } from '../errors.ts'
import type { Publishing } from './publish.ts'
import { invalidSignature, notFound } from './refusals.ts'
import { type Claim, type Verified, verifyClaim } from './signature.ts'

export type OwnerClaim = Pick<Claim, 'operation' | 'signature' | 'timestamp' | 'body'> & { listingId: string }

/**
 * Who signed a change to a listing. `refusal` is what awaits the request unless the store knows it from before: a
 * repeat is answered as the first time, even where the listing has gone or changed hands (`protocol.md` 8, Replay).
 * @throws EntrepotError `not_found` before any `unauthorized` (`protocol.md` 1.8, 1.9)
 */
export const verifyOwnerClaim = async (
  { listingId, ...claim }: OwnerClaim,
  { replica, verifier }: Publishing,
): Promise<Verified & { refusal: EntrepotError | null }> => {
  const owner = await replica.ownerOf(listingId)
  // Without a signature there is nothing that could have been done before.
  if (owner === null && !(claim.signature && claim.timestamp)) throw notFound()
  const verified = await verifyClaim(
    { ...claim, subject: listingId, signer: null, scheme: 'eip191' },
    verifier,
  ).catch((cause) => {
    throw owner === null ? notFound() : cause
  })
  if (owner === null) return { ...verified, refusal: notFound() }
  const isOwner = owner.identifier === verified.identity.identifier
  return { ...verified, refusal: isOwner ? null : invalidSignature() }
}
