import type { PublishReceipt } from '../../domain/listing.ts'
import { formatTimestamp } from '../../domain/timestamp.ts'
import { EntrepotError } from '../../errors.ts'
import { type JsonObject, textAt } from '../../json/value.ts'
import type { WriteContext } from '../../registry/write/checked-write.ts'
import { publishListing } from '../../registry/write/publish.ts'
import { publishRequest } from '../../registry/write/request.ts'
import { removeListing, updateListing, updateRequest } from '../../registry/write/update-and-remove.ts'
import { validateListing, validateRequest, validation } from '../../registry/write/validate.ts'
import { publishReceiptSchema, updateReceiptSchema } from '../../wire/listing.ts'
import { objectBody } from '../middleware/body.ts'
import { LISTING_ID, readIntegerParameter } from '../parameters.ts'
import {
  integerParameter,
  json,
  type LogMembers,
  parameter,
  type RequestContext,
  type Route,
} from '../route.ts'

/** @param registry `null` for a pure gateway */
export const publishingRoutes = (registry: WriteContext | null): Route[] =>
  registry === null ? [NO_REGISTRY] : writeRoutes(registry)

const writeRoutes = (registry: WriteContext): Route[] => [
  publishRoute(registry),
  updateRoute(registry),
  removeRoute(registry),
  validateRoute(registry),
]

const publishRoute = (registry: WriteContext): Route => ({
  method: 'POST',
  path: '/listings',
  gate: 'write',
  act: 'listing.publish',
  summary: 'Publish or republish a listing',
  description:
    'Signed by the publisher (EIP-191). Republishing replaces the members that are sent and keeps the others, the ' +
    'status and the position included. An identical request gets the same receipt again while the listing is ' +
    'unchanged; after that, or with another body for the listing, the signature is refused.',
  body: publishRequest,
  responses: { 201: { description: 'Published or republished', schema: publishReceiptSchema } },
  problems: [400, 409],
  handle: async (request) => {
    const body = objectBody(request)
    request.note(listingNote(body.value))
    const { receipt, warnings } = await publishListing(body, request.caller, noting(request, registry))
    return json({ ...toJson(receipt), warnings: warnings.length > 0 ? warnings : undefined }, 201)
  },
})

/** Unchecked: what the seller calls it. */
export function listingNote(body: JsonObject): LogMembers {
  const id = textAt(body, 'listing_id')
  return id === null ? {} : { subject: id.slice(0, MAX_NOTE) }
}

/** In characters. */
const MAX_NOTE = 500

const updateRoute = (registry: WriteContext): Route => ({
  method: 'PUT',
  path: '/listings/:id',
  gate: 'write',
  act: 'listing.update',
  summary: 'Change the status or the oracle of a listing',
  description: 'Signed by its publisher.',
  parameters: [LISTING_ID],
  body: updateRequest,
  responses: { 200: { description: 'Changed', schema: updateReceiptSchema } },
  problems: [400, 404, 409],
  handle: async (request) => {
    const changed = await updateListing(
      request.params.id ?? '',
      objectBody(request),
      noting(request, registry),
    )
    const { listingId, status, updatedAt } = changed
    return json({ listing_id: listingId, status, updated_at: formatTimestamp(updatedAt) })
  },
})

const removeRoute = (registry: WriteContext): Route => ({
  method: 'DELETE',
  path: '/listings/:id',
  gate: 'write',
  act: 'listing.delete',
  summary: 'Delete a listing permanently',
  description: 'Signed by its publisher over `delete_listing:<listing_id>:<timestamp>`.',
  parameters: [LISTING_ID, parameter('query', 'signature', '65 bytes in hex'), TIMESTAMP],
  responses: { 204: { description: 'Deleted' } },
  problems: [404, 409, 422],
  handle: async (request) => {
    const { params, query } = request
    const timestamp = readIntegerParameter(TIMESTAMP, query.timestamp)
    const signed = { signature: query.signature, timestamp }
    await removeListing(params.id ?? '', signed, noting(request, registry))
    return { status: 204 }
  },
})

const validateRoute = (registry: WriteContext): Route => ({
  method: 'POST',
  path: '/api/v1/listings/validate-publish',
  gate: 'read',
  summary: 'Validate a listing against the listing shape',
  description: 'Writes nothing and needs no signature.',
  body: validateRequest,
  responses: {
    200: { description: 'The result, for a valid and an invalid listing alike', schema: validation },
  },
  handle: (request) => json(validateListing(objectBody(request), registry.shape.check)),
})

/** The log names the wallet that has signed, also of a request that is refused then. */
const noting = ({ note }: RequestContext, registry: WriteContext): WriteContext => ({
  ...registry,
  verifier: { ...registry.verifier, onSigned: (wallet) => note({ wallet }) },
})

const TIMESTAMP = integerParameter('query', 'timestamp', 'Unix seconds, within 300 of the server’s clock')

/** In the protocol's key order. */
const toJson = ({ listingId, publisherId, status, createdAt, updatedAt }: PublishReceipt) => ({
  listing_id: listingId,
  publisher_id: publisherId,
  status,
  created_at: formatTimestamp(createdAt),
  updated_at: formatTimestamp(updatedAt),
})

/** 404 with a reason rather than 405. */
const NO_REGISTRY: Route = {
  method: 'POST',
  path: '/listings',
  gate: 'none',
  summary: 'Not available: this gateway has no Registry of its own',
  responses: {},
  problems: [404],
  handle: () => {
    throw new EntrepotError(
      'not_found',
      'This gateway has no Registry of its own: publish to one of its upstreams',
    )
  },
}
