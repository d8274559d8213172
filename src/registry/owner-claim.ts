import type { EntrepotError } from '../errors.ts'
import type { Publishing } from './publish.ts'
import { invalidSignature, notFound } from './refusals.ts'
import { type Claim, type Verified, verifyClaim } from './signature.ts'

type OwnerClaim = Pick<Claim, 'signature' | 'timestamp' | 'body'> & {
  operation: keyof typeof STORED
  listingId: string
}

/** As far as this replica knows; the store decides. */
type OwnerClaimed = Verified & {
  /** `null` if the signer owns the listing. */
  refusal: EntrepotError | null
  isRepeat: boolean
}

/** @throws EntrepotError `not_found` before any `unauthorized`, as the deployed protocol orders them */
export async function verifyOwnerClaim(
  { listingId, ...claim }: OwnerClaim,
  { store, replica, verifier }: Publishing,
): Promise<OwnerClaimed> {
  const owner = await replica.ownerOf(listingId)
  // Without a signature it cannot repeat an earlier request.
  if (owner === null && !(claim.signature && claim.timestamp)) throw notFound()
  const verified = await verifyClaim(
    { ...claim, subject: listingId, signer: null, scheme: 'eip191' },
    verifier,
  ).catch((cause) => {
    throw owner === null ? notFound() : cause
  })
  const { signature } = verified.use
  const isRepeat = await store.hasUse({ operation: STORED[claim.operation], listingId, signature })
  if (owner === null) return { ...verified, refusal: notFound(), isRepeat }
  const isOwner = owner.identifier === verified.identity.identifier
  return { ...verified, refusal: isOwner ? null : invalidSignature(), isRepeat }
}

const STORED = { update_listing: 'update', delete_listing: 'remove' } as const
