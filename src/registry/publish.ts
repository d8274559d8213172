import type { ListingShapeMode } from '../config/gateway-file.ts'
import { MAX_LISTING_BYTES, type PublishReceipt } from '../domain/listing.ts'
import type { Violation } from '../errors.ts'
import type { PublishCommand, Store } from '../store/store.ts'
import { inTurns } from './in-turns.ts'
import { candidateOf, type ShapeCheck } from './listing-shape.ts'
import {
  type JsonBody,
  readIdentifier,
  readListingId,
  readScheme,
  readStatus,
  readStorefrontUrl,
  requireScalars,
} from './publish-request.ts'
import { readFields } from './published-fields.ts'
import { invalid, listingTooLarge, notOwner, signatureReused, tooManyListings } from './refusals.ts'
import type { Replica } from './replica.ts'
import { countMutation, type Verified, type Verifier, verifyClaim } from './signature.ts'

/** What every signed mutation works with. */
export type Publishing = {
  store: Store
  replica: Replica
  verifier: Verifier
  /** The shape that listings should have, and whether others are refused. */
  shape: { mode: ListingShapeMode; check: ShapeCheck }
  /** Listings that one publisher may have; 0 is no limit. */
  maxListings: number
}

/** An accepted publish; `warnings` are where the listing does not fit the shape all the same. */
export type Published = { receipt: PublishReceipt; warnings: readonly Violation[] }

/**
 * Publishes a listing by a signed request: checks in the deployed protocol's order, changes nothing before every check
 * has passed, and is readable here when it resolves.
 * @throws EntrepotError in the words of the deployed protocol; `invalid` with every violation where the shape is enforced
 */
export const publishListing = async (body: JsonBody, publishing: Publishing): Promise<Published> => {
  const { store, replica, verifier } = publishing
  const { value } = body
  const identifier = readIdentifier(value)
  const verified = await verifyClaim(
    {
      operation: 'create_listing',
      subject: identifier,
      signer: identifier,
      scheme: readScheme(value),
      signature: value.signature,
      timestamp: value.timestamp,
      body: body.bytes,
    },
    verifier,
  )
  const listingId = readListingId(value)
  const owner = replica.projection.ownerOf(listingId)
  // Whether this repeats a request from before the listing was somebody else's, only the store can tell.
  const isTaken = owner !== null && owner.identifier !== identifier
  const command = { ...readCommand(listingId, body, verified, isTaken), maxListings: publishing.maxListings }
  const warnings = isTaken ? [] : checkShape(command, publishing)
  const { signature } = verified.use
  const isKnown = await store.hasUse({ operation: 'publish', listingId, signature })
  if (!isTaken && !isKnown) {
    await requireRoomForUrl(command, publishing)
    await countMutation(verified, verifier)
  }

  const result = await store.publish(command)
  if (result.outcome === 'not_owner') throw notOwner()
  if (result.outcome === 'signature_reused') throw signatureReused()
  if (result.outcome === 'too_many_listings') throw tooManyListings(command.maxListings)
  if (result.outcome === 'too_large') throw listingTooLarge()
  await replica.catchUp()
  return { receipt: result.record, warnings }
}

const readCommand = (
  listingId: string,
  { bytes, value }: JsonBody,
  verified: Verified,
  isTaken: boolean,
): Omit<PublishCommand, 'maxListings'> => {
  try {
    const status = readStatus(value)
    const storefrontUrl = readStorefrontUrl(value)
    requireScalars(value, 'max_duration_seconds', 'oracle_address')
    return { ...verified, listingId, status, storefrontUrl, fields: readFields(bytes) }
  } catch (cause) {
    throw isTaken ? notOwner() : cause // such a request was never accepted, so this one repeats none
  }
}

/**
 * The violations of the listing as it would be after the publish, kept fields included, as far as this replica knows
 * them: another replica's change may be up to a second away.
 */
const checkShape = (
  { identity, listingId, storefrontUrl, fields }: PublishCommand,
  { replica: { projection }, shape }: Publishing,
): Violation[] => {
  if (shape.mode === 'off') return []
  const known = projection.publisherOf(identity.identifier)
  const url = storefrontUrl || known === null ? storefrontUrl : known.storefrontUrl
  const storedRow = projection.listings.get(listingId)?.bytes ?? null
  const violations = shape.check(candidateOf(listingId, url, fields, storedRow))
  if (shape.mode === 'warn' || violations.length === 0) return violations
  throw invalid(violations, 'The listing does not fit the listing shape: ')
}

/**
 * A storefront URL is part of every listing of its publisher. The store checks the one that is published.
 * @throws EntrepotError `invalid` where the URL would make another listing larger than any may be, as far as this replica
 *   knows
 */
async function requireRoomForUrl(
  { identity, listingId, storefrontUrl }: PublishCommand,
  { replica: { projection } }: Publishing,
): Promise<void> {
  const publisher = projection.publisherOf(identity.identifier)
  if (!storefrontUrl || publisher === null) return
  const growth = jsonBytes(storefrontUrl) - jsonBytes(publisher.storefrontUrl)
  if (growth <= 0) return
  for await (const row of inTurns(projection.listings.entriesOf(publisher.publisherId))) {
    if (row.listingId === listingId || row.bytes.length + growth <= MAX_LISTING_BYTES) continue
    const message = `the listing ${JSON.stringify(row.listingId)} would be larger than ${MAX_LISTING_BYTES} bytes with it`
    throw invalid([{ path: 'body.storefront_url', message }])
  }
}

function jsonBytes(value: string | null): number {
  return Buffer.byteLength(JSON.stringify(value))
}
