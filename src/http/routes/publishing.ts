import type { PublishReceipt } from '../../domain/listing.ts'
import { activeIdentities } from '../../domain/publisher.ts'
import { formatTimestamp } from '../../domain/timestamp.ts'
import { EntrepotError } from '../../errors.ts'
import { type JsonObject, textAt } from '../../json/value.ts'
import type { WriteContext } from '../../registry/write/lines.ts'
import { plainLine, signedLine } from '../../registry/write/lines.ts'
import { type JsonBody, publishRequest, updateRequest } from '../../registry/write/request.ts'
import { validateListing, validateRequest, validation } from '../../registry/write/validate.ts'
import { type Operation, PUBLISH, REMOVE, UPDATE, type Written, write } from '../../registry/write/write.ts'
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
  writerOf,
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
    const { receipt, warnings } = await writeOf(request, registry, PUBLISH, body)
    return json(
      {
        ...toJson(receipt, principalsOf(request, receipt, registry)),
        warnings: warnings.length > 0 ? warnings : undefined,
      },
      201,
    )
  },
})

/** Unchecked: what the seller calls it. */
function listingNote(body: JsonObject): LogMembers {
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
    const { receipt } = await writeOf(request, registry, UPDATE, objectBody(request))
    const { listingId, status, updatedAt } = receipt
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
    await writeOf(request, registry, REMOVE, {
      bytes: NO_BODY,
      value: request.signed ? {} : removalOf(request),
    })
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

/** On the line that the request came on. */
function writeOf<Receipt>(
  { signed, caller, params, note }: RequestContext,
  registry: WriteContext,
  operation: Operation<Receipt>,
  body: JsonBody,
): Promise<Written<Receipt>> {
  const line = signed ? signedLine(writerOf(signed)) : plainLine(caller, registry)
  // The log names the wallet that has signed, also of a request that is refused then.
  const verifier = { ...registry.verifier, onSigned: (wallet: string) => note({ wallet }) }
  return write(line, operation, { listingId: params.id, body }, { ...registry, verifier })
}

/** What the plain line has in the query. */
const removalOf = ({ query }: RequestContext): JsonObject => ({
  signature: query.signature ?? null,
  timestamp: readIntegerParameter(TIMESTAMP, query.timestamp) ?? null,
})

const TIMESTAMP = integerParameter('query', 'timestamp', 'Unix seconds, within 300 of the server’s clock')
const NO_BODY = new Uint8Array()

/** Of a receipt of the signed line. */
function principalsOf(
  { signed }: RequestContext,
  { publisherId }: PublishReceipt,
  { replica: { projection } }: WriteContext,
) {
  if (!signed) return undefined
  const { identity, use } = writerOf(signed)
  const owner = projection.publisher(publisherId)
  return { identities: owner === null ? [identity] : activeIdentities(owner, use.now) }
}

/** In the protocol's key order. */
const toJson = (
  { listingId, publisherId, status, createdAt, updatedAt }: PublishReceipt,
  principals?: object,
) => ({
  listing_id: listingId,
  publisher_id: publisherId,
  publisher_principals: principals,
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
