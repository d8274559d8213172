import type { EntrepotError } from '../errors.ts'
import type { UseKey } from '../store/store.ts'
import type { Publishing } from './publish.ts'
import { invalidSignature, notFound } from './refusals.ts'
import { type Claim, countMutation, type Verified, verifyClaim } from './signature.ts'

export type OwnerClaim = Pick<Claim, 'operation' | 'signature' | 'timestamp' | 'body'> & { listingId: string }

/**
 * The signer of a change to a listing. `refusal` is the answer as far as this replica knows the listing; the store
 * decides, because it knows repeats.
 * @throws EntrepotError `not_found` before any `unauthorized`, as the deployed protocol orders them
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

/**
 * Counts a change that the store is going to make. One that this replica knows to be refused is not counted.
 * @throws EntrepotError `rate_limited`
 */
export async function countChange(
  { refusal, ...verified }: Awaited<ReturnType<typeof verifyOwnerClaim>>,
  change: Pick<UseKey, 'operation' | 'listingId'>,
  { store, verifier }: Publishing,
): Promise<void> {
  if (refusal !== null || (await store.hasUse({ ...change, signature: verified.use.signature }))) return
  await countMutation(verified, verifier)
}
