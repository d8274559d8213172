import type { Caller } from '../../domain/api-key.ts'
import { fieldBytes, MAX_LISTING_BYTES, type PublishReceipt } from '../../domain/listing.ts'
import type { Violation } from '../../errors.ts'
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
import { countMutation, type Verified, verifyClaim } from '../verify-claim.ts'
import { type WriteContext, writeChecked } from './checked-write.ts'
import {
  type JsonBody,
  readFields,
  readIdentifier,
  readListingId,
  readScheme,
  readStatus,
  readStorefrontUrl,
  requireScalars,
} from './request.ts'

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
      signer: identifier,
      scheme: readScheme(value),
      signature: value.signature,
      timestamp: value.timestamp,
      body: body.bytes,
    },
    context.verifier,
  )
  const listingId = readListingId(value)
  const owner = replica.projection.ownerOf(listingId)
  // The store may know this request from before the listing was another publisher's.
  const isOwnedByAnother = owner !== null && owner.identifier !== identifier
  const command = readCommand(listingId, body, verified, isOwnedByAnother)
  const { signature } = verified.use
  const isRepeat = await store.hasUse({ operation: 'publish', listingId, signature })

  // Before the shape, of which a large listing can have a violation for every two bytes.
  if (fieldBytes(command.fields) > MAX_LISTING_BYTES)
    throw isRepeat ? signatureReused() : isOwnedByAnother ? notOwner() : listingTooLarge()

  const { maxListings, requiresKey } = context
  const keyId = requiresKey && caller.kind === 'key' ? caller.key.id : null
  const { result, warnings } = await writeChecked(
    { ...command, mayCreate: true, isRepeat },
    {
      admit: async () => {
        if (!isOwnedByAnother && !isRepeat) await admit(command, verified, context)
      },
      write: (expected) => store.publish({ ...command, maxListings, keyId, expected }),
    },
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
  verified: Verified,
  isOwnedByAnother: boolean,
): RequestedPublish {
  try {
    const status = readStatus(value)
    const storefrontUrl = readStorefrontUrl(value)
    requireScalars(value, 'max_duration_seconds', 'oracle_address')
    return { ...verified, listingId, status, storefrontUrl, fields: readFields(bytes) }
  } catch (cause) {
    throw isOwnedByAnother ? notOwner() : cause // it was never accepted, so this is not a repeat
  }
}

async function admit(command: RequestedPublish, verified: Verified, context: WriteContext): Promise<void> {
  await requireRoomForUrl(command, context)
  await countMutation(verified, context.verifier)
}

/**
 * The URL is part of every listing of its publisher; the store checks only the one that is published.
 * @throws EntrepotError `invalid` if another listing becomes too large, as far as this replica knows
 */
async function requireRoomForUrl(
  { identity, listingId, storefrontUrl }: RequestedPublish,
  { replica: { projection } }: WriteContext,
): Promise<void> {
  const publisher = projection.publisherOf(identity.identifier)
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
