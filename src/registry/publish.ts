import type { PublishReceipt } from '../domain/listing.ts'
import type { Store } from '../store/store.ts'
import {
  type JsonBody,
  readFields,
  readIdentifier,
  readListingId,
  readScheme,
  readStatus,
  readStorefrontUrl,
} from './publish-request.ts'
import { notOwner, signatureReused } from './refusals.ts'
import type { Replica } from './replica.ts'
import { type Verifier, verifyClaim } from './signature.ts'

/** What every signed mutation works with. */
export type Publishing = { store: Store; replica: Replica; verifier: Verifier }

/**
 * Takes a signed publish request (`protocol.md` 1.5): checks in the protocol's order, changes nothing before every
 * check has passed, and is readable here when it resolves.
 */
export const publishListing = async (
  body: JsonBody,
  { store, replica, verifier }: Publishing,
): Promise<PublishReceipt> => {
  const { value } = body
  const identifier = readIdentifier(value)
  const scheme = readScheme(value)
  const { identity, use } = await verifyClaim(
    {
      operation: 'create_listing',
      subject: identifier,
      signer: identifier,
      scheme,
      signature: value.signature,
      timestamp: value.timestamp,
      body: body.bytes,
    },
    verifier,
  )
  const listingId = readListingId(value)
  const owner = replica.projection.ownerOf(listingId)
  if (owner !== null && owner.identifier !== identifier) throw notOwner()

  const outcome = await store.publish({
    identity,
    listingId,
    storefrontUrl: readStorefrontUrl(value),
    fields: readFields(body),
    status: readStatus(value),
    use,
  })
  if (outcome.outcome === 'not_owner') throw notOwner()
  if (outcome.outcome === 'signature_reused') throw signatureReused()
  await replica.catchUp()
  return outcome.record
}
