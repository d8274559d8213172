import { z } from 'zod'
import type { PublishReceipt } from '../../domain/listing.ts'
import { formatTimestamp } from '../../domain/timestamp.ts'
import { EntrepotError } from '../../errors.ts'
import type { FilterSpec } from '../../filter-spec/filter.ts'
import { queryLocal } from '../../registry/local-source.ts'
import type { Replica } from '../../registry/replica.ts'
import type { WriteContext } from '../../registry/write/checked-write.ts'
import { publishListing } from '../../registry/write/publish.ts'
import { publishRequest } from '../../registry/write/request.ts'
import { removeListing, updateListing, updateRequest } from '../../registry/write/update-and-remove.ts'
import { validateListing, validateRequest, validation } from '../../registry/write/validate.ts'
import { renderEnvelope } from '../../wire/envelope.ts'
import {
  envelopeSchema,
  listingSchema,
  publishReceiptSchema,
  updateReceiptSchema,
} from '../../wire/listing.ts'
import { requireEtag } from '../etag.ts'
import { objectBody } from '../middleware/body.ts'
import {
  LISTING_ID,
  listingParameters,
  queryOf,
  readIntegerParameter,
  readListingParameters,
  readStatusParameter,
} from '../parameters.ts'
import {
  type HandlerResponse,
  type IntegerParameter,
  json,
  type RequestContext,
  type Route,
} from '../route.ts'

export const localListingRoutes = (spec: FilterSpec, replica: Replica): Route[] => [
  listLocalListings(spec, replica),
  getListing(replica),
]

/** @param registry `null` for a pure gateway */
export const publishingRoutes = (registry: WriteContext | null): Route[] =>
  registry === null
    ? [NO_REGISTRY]
    : [postListing(registry), putListing(registry), deleteListing(registry), validatePublish(registry)]

const listLocalListings = (spec: FilterSpec, replica: Replica): Route => ({
  method: 'GET',
  path: '/listings',
  gate: 'read',
  summary: 'List matching listings',
  description:
    'Newest first. Every other query parameter is a filter of the filter spec; all filters have to match.',
  parameters: listingParameters(spec),
  responses: { 200: { description: 'A page of listings', schema: envelopeSchema } },
  problems: [400, 412, 422],
  handle: (request) => readLocal(request, spec, replica),
})

function readLocal(
  { queryString, header }: RequestContext,
  spec: FilterSpec,
  replica: Replica,
): HandlerResponse {
  const parameters = readListingParameters(queryString)
  requireEtag(header('if-match'), spec.etag)
  const status = readStatusParameter(parameters.status)
  // In the protocol, an unknown publisher is answered before the filters are checked.
  const { publisher } = parameters
  const { projection } = replica
  const { version } = projection.listings
  if (publisher !== null && projection.publisherOf(publisher) === null) return { body: renderEnvelope([], 0) }
  const { rows, total } = queryLocal(projection, queryOf(spec, status, parameters))
  const body = renderEnvelope(
    rows.map(({ bytes }) => bytes),
    total,
  )
  const isCurrent = (): boolean =>
    replica.projection === projection && projection.listings.version === version
  return { body, isCurrent }
}

const getListing = (replica: Replica): Route => ({
  method: 'GET',
  path: '/listings/:id',
  gate: 'read',
  summary: 'One listing of any status',
  parameters: [LISTING_ID],
  responses: { 200: { description: 'The listing', schema: z.object({ listing: listingSchema }) } },
  problems: [404],
  handle: ({ params }) => {
    const row = replica.projection.listings.get(params.id ?? '')
    if (row === undefined) throw new EntrepotError('not_found', 'Listing not found')
    return { body: Buffer.concat([OPEN_LISTING, row.bytes, CLOSE_LISTING]) }
  },
})

const OPEN_LISTING = Buffer.from('{"listing":')
const CLOSE_LISTING = Buffer.from('}')

const postListing = (publishing: WriteContext): Route => ({
  method: 'POST',
  path: '/listings',
  gate: 'write',
  summary: 'Publish or republish a listing',
  description:
    'Signed by the publisher (EIP-191). Republishing replaces the members that are sent and keeps the others, the ' +
    'status and the position included. An identical request gets the same receipt again while the listing is ' +
    'unchanged; after that, or with another body for the listing, the signature is refused.',
  body: publishRequest,
  responses: { 201: { description: 'Published or republished', schema: publishReceiptSchema } },
  problems: [400, 409],
  handle: async (request) => {
    const { receipt, warnings } = await publishListing(objectBody(request), publishing)
    return json({ ...toJson(receipt), warnings: warnings.length > 0 ? warnings : undefined }, 201)
  },
})

const putListing = (publishing: WriteContext): Route => ({
  method: 'PUT',
  path: '/listings/:id',
  gate: 'write',
  summary: 'Change the status or the oracle of a listing',
  description: 'Signed by its publisher.',
  parameters: [LISTING_ID],
  body: updateRequest,
  responses: { 200: { description: 'Changed', schema: updateReceiptSchema } },
  problems: [400, 404, 409],
  handle: async (request) => {
    const changed = await updateListing(request.params.id ?? '', objectBody(request), publishing)
    const { listingId, status, updatedAt } = changed
    return json({ listing_id: listingId, status, updated_at: formatTimestamp(updatedAt) })
  },
})

const TIMESTAMP: IntegerParameter = {
  name: 'timestamp',
  in: 'query',
  description: 'Unix seconds, within 300 of the server’s clock',
  schema: { type: 'integer' },
}

const deleteListing = (publishing: WriteContext): Route => ({
  method: 'DELETE',
  path: '/listings/:id',
  gate: 'write',
  summary: 'Delete a listing permanently',
  description: 'Signed by its publisher over `delete_listing:<listing_id>:<timestamp>`.',
  parameters: [
    LISTING_ID,
    { name: 'signature', in: 'query', description: '65 bytes in hex', schema: { type: 'string' } },
    TIMESTAMP,
  ],
  responses: { 204: { description: 'Deleted' } },
  problems: [404, 409, 422],
  handle: async ({ params, query }) => {
    const timestamp = readIntegerParameter(TIMESTAMP, query.get('timestamp'))
    await removeListing(params.id ?? '', { signature: query.get('signature'), timestamp }, publishing)
    return { status: 204 }
  },
})

const validatePublish = ({ shape }: WriteContext): Route => ({
  method: 'POST',
  path: '/api/v1/listings/validate-publish',
  gate: 'read',
  summary: 'Validate a listing against the listing shape',
  description: 'Writes nothing and needs no signature.',
  body: validateRequest,
  responses: {
    200: { description: 'The result, for a valid and an invalid listing alike', schema: validation },
  },
  handle: (request) => json(validateListing(objectBody(request).value, shape.check)),
})

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
