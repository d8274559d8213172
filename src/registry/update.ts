import { objectMembers } from '../domain/json.ts'
import type { ListingRecord } from '../domain/listing.ts'
import type { Publishing } from './publish.ts'
import { type JsonBody, readStatus } from './publish-request.ts'
import { notFound, notOwner, signatureReused } from './refusals.ts'
import { verifyClaim } from './signature.ts'

/** Changes a listing's status or oracle, signed by its owner (`protocol.md` 1.8). Other members are ignored. */
export const updateListing = async (
  listingId: string,
  body: JsonBody,
  { store, replica, verifier }: Publishing,
): Promise<Pick<ListingRecord, 'listingId' | 'status' | 'updatedAt'>> => {
  const owner = await replica.ownerOf(listingId)
  if (owner === null) throw notFound()
  const { identity, use } = await verifyClaim(
    {
      operation: 'update_listing',
      subject: listingId,
      signer: owner.identifier,
      scheme: owner.scheme,
      signature: body.value.signature,
      timestamp: body.value.timestamp,
      body: body.bytes,
    },
    verifier,
  )
  const result = await store.update({
    identity,
    listingId,
    status: readStatus(body.value),
    oracleAddress: oracleText(body),
    use,
  })
  if (result.outcome === 'not_found') throw notFound()
  if (result.outcome === 'not_owner') throw notOwner()
  if (result.outcome === 'signature_reused') throw signatureReused()
  await replica.catchUp()
  return result.record
}

/** The oracle as JSON text; here, unlike on publish, `null` clears it. */
const oracleText = ({ bytes }: JsonBody): string | undefined => {
  const member = objectMembers(bytes).findLast(({ name }) => name === 'oracle_address')
  return member && Buffer.from(bytes.subarray(member.value.start, member.value.end)).toString('utf8')
}
