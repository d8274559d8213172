import type { Caller } from '../../domain/api-key.ts'
import { fieldBytes, MAX_LISTING_BYTES, type PublishReceipt } from '../../domain/listing.ts'
import { activeIdentities, isActive, type PublisherIdentity } from '../../domain/publisher.ts'
import type { EntrepotError, Violation } from '../../errors.ts'
import type { PublishCommand } from '../../store/store.ts'
import {
  invalid,
  listingTooLarge,
  notOwner,
  retiredPrincipal,
  signatureReused,
  tooManyListings,
} from '../errors.ts'
import { interruptible } from '../projection.ts'
import { countMutation, verifyClaim } from '../verify-claim.ts'
import { type WriteContext, writeChecked } from './checked-write.ts'
import {
  isFieldName,
  isPlainName,
  type JsonBody,
  readFields,
  readIdentifier,
  readListingId,
  readScheme,
  readSignedListingId,
  readStatus,
  readStorefrontUrl,
  requireTypes,
} from './request.ts'
import type { SignedWriter } from './signed-write.ts'

type Published = { receipt: PublishReceipt; warnings: readonly Violation[] }

/**
 * Checks in the deployed protocol's order. Resolves when this replica serves the listing.
 * @throws EntrepotError in the deployed protocol's words; `invalid` has every violation of an enforced shape
 */
export async function publishListing(
  body: JsonBody,
  caller: Caller,
  context: WriteContext,
): Promise<Published> {
  const { store, replica } = context
  const { value } = body
  const identifier = readIdentifier(value)
  const verified = verifyClaim(
    {
      operation: 'create_listing',
      subject: identifier,
      signer: identifier.toLowerCase(),
      scheme: readScheme(value),
      signature: value.signature,
      timestamp: value.timestamp,
      body: body.bytes,
    },
    context.verifier,
  )
  const listingId = readListingId(value)
  // The store may know this request from before the listing was another publisher's.
  const refusal = replica.projection.isOwnedByAnother(listingId, verified.identity) ? notOwner() : null
  const command = readCommand(listingId, body, verified, refusal)
  const { signature } = verified.use
  const isRepeat = await store.hasUse({ operation: 'publish', listingId, signature })

  // Before the shape, of which a large listing can have a violation for every two bytes.
  if (fieldBytes(command.fields) > MAX_LISTING_BYTES)
    throw isRepeat ? signatureReused() : (refusal ?? listingTooLarge())
  if (!isRepeat && refusal === null) requireTypes({ ...value, settlement_options: null })

  const keyId = context.requiresKey && caller.kind === 'key' ? caller.key.id : null
  const admit = async () => {
    if (refusal !== null || isRepeat) return
    await requireRoomForUrl(command, context)
    await countMutation(verified, context.verifier)
  }
  return storePublish({ ...command, keyId }, { isRepeat, admit }, context)
}

/**
 * Publishes for the principal of a request of the signed line, whose replay guard and limits were asked before.
 * @throws EntrepotError as above, in the words of the signed line
 */
export async function publishSigned(
  body: JsonBody,
  signer: SignedWriter,
  context: WriteContext,
): Promise<Published & { principals: PublisherIdentity[] }> {
  const { projection } = context.replica
  const { identity, use } = signer
  const listingId = readSignedListingId(body.value)
  const publisher = projection.publisherOf(identity)
  if (publisher !== null && !isActive(publisher, identity, use.now)) throw retiredPrincipal()
  const refusal = projection.isOwnedByAnother(listingId, identity) ? notOwner() : null
  const command = readCommand(listingId, body, signer, refusal, isFieldName)
  if (fieldBytes(command.fields) > MAX_LISTING_BYTES) throw refusal ?? listingTooLarge()
  if (refusal === null) requireTypes(body.value)
  const admit = async () => {
    if (refusal === null) await requireRoomForUrl(command, context)
  }
  const published = await storePublish({ ...command, keyId: null }, { isRepeat: false, admit }, context)
  const owner = context.replica.projection.publisher(published.receipt.publisherId)
  return { ...published, principals: owner === null ? [identity] : activeIdentities(owner, use.now) }
}

async function storePublish(
  command: RequestedPublish & Pick<PublishCommand, 'keyId'>,
  { isRepeat, admit }: { isRepeat: boolean; admit: () => Promise<void> },
  context: WriteContext,
): Promise<Published> {
  const { store, replica, maxListings } = context
  const { result, warnings } = await writeChecked(
    { ...command, mayCreate: true, isRepeat },
    { admit, write: (expected) => store.publish({ ...command, maxListings, expected }) },
    context,
  )
  if (result.outcome === 'retired') throw retiredPrincipal()
  if (result.outcome === 'not_owner') throw notOwner()
  if (result.outcome === 'signature_reused') throw signatureReused()
  if (result.outcome === 'too_many_listings') throw tooManyListings(maxListings)
  if (result.outcome === 'too_large') throw listingTooLarge()
  await replica.catchUp()
  if (command.storefrontUrl) await replica.projection.storefrontUpdated(result.record.publisherId)
  return { receipt: result.record, warnings }
}

type RequestedPublish = Omit<PublishCommand, 'maxListings' | 'keyId' | 'expected'>

function readCommand(
  listingId: string,
  { bytes, value }: JsonBody,
  { identity, use }: Pick<PublishCommand, 'identity' | 'use'>,
  refusal: EntrepotError | null,
  isName = isPlainName,
): RequestedPublish {
  try {
    const status = readStatus(value)
    const storefrontUrl = readStorefrontUrl(value)
    return { identity, use, listingId, status, storefrontUrl, fields: readFields(bytes, isName) }
  } catch (cause) {
    throw refusal ?? cause // it was never accepted, so this is not a repeat
  }
}

/**
 * The URL is part of every listing of its publisher; the store checks only the one that is published.
 * @throws EntrepotError `invalid` if another listing becomes too large, as far as this replica knows
 */
async function requireRoomForUrl(
  { identity, listingId, storefrontUrl }: RequestedPublish,
  { replica: { projection } }: WriteContext,
): Promise<void> {
  const publisher = projection.publisherOf(identity)
  if (!storefrontUrl || publisher === null) return
  const growth = jsonBytes(storefrontUrl) - jsonBytes(publisher.storefrontUrl)
  if (growth <= 0) return
  for await (const row of interruptible(projection.listings.entriesOf(publisher.publisherId))) {
    if (row.listingId === listingId || row.bytes.length + growth <= MAX_LISTING_BYTES) continue
    const message = `the listing ${JSON.stringify(row.listingId)} would be larger than ${MAX_LISTING_BYTES} bytes with it`
    throw invalid([{ path: 'body.storefront_url', message }], { limit: 'listing_bytes' })
  }
}

function jsonBytes(value: string | null): number {
  return Buffer.byteLength(JSON.stringify(value))
}
