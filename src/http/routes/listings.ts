import { setImmediate } from 'node:timers/promises'
import { z } from 'zod'
import type { PublishReceipt } from '../../domain/listing.ts'
import { parsePriceQuestion } from '../../domain/price/price-parameters.ts'
import type { TokenTable } from '../../domain/price/token.ts'
import type { PageQuery } from '../../domain/query.ts'
import type { PriceOrder, PricePlace, Select, Selection } from '../../domain/source/selection.ts'
import { formatTimestamp } from '../../domain/timestamp.ts'
import { EntrepotError } from '../../errors.ts'
import type { FilterSpec } from '../../filter-spec/filter.ts'
import {
  type Comparison,
  comparisonIn,
  comparisonWith,
  itemPrice,
} from '../../gateway/by-price/item-price.ts'
import { type ByPrice, nameGroups, orderOf } from '../../gateway/by-price/price-order.ts'
import { withMember } from '../../json/members.ts'
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
  integerParameter,
  json,
  parameter,
  type RequestContext,
  type Route,
} from '../route.ts'

type LocalListings = { spec: FilterSpec; replica: Replica; select: Select; tokens: TokenTable }

export const localListingRoutes = (local: LocalListings): Route[] => [
  {
    method: 'GET',
    path: '/listings',
    gate: 'read',
    summary: 'List matching listings',
    description:
      'Newest first, or by price. Every other query parameter is a filter of the filter spec; all filters have to match.',
    parameters: listingParameters(local.spec),
    responses: { 200: { description: 'A page of listings', schema: envelopeSchema } },
    problems: [400, 412, 422],
    handle: (request) => readLocal(request, local),
  },
  {
    method: 'GET',
    path: '/listings/:id',
    gate: 'read',
    summary: 'One listing of any status',
    parameters: [LISTING_ID],
    responses: { 200: { description: 'The listing', schema: z.object({ listing: listingSchema }) } },
    problems: [404],
    handle: ({ params }) => {
      const row = local.replica.projection.listings.get(params.id ?? '')
      if (row === undefined) throw new EntrepotError('not_found', 'Listing not found')
      return { body: Buffer.concat([OPEN_LISTING, row.bytes, CLOSE_LISTING]) }
    },
  },
]

/** @param registry `null` for a pure gateway */
export const publishingRoutes = (registry: WriteContext | null): Route[] =>
  registry === null ? [NO_REGISTRY] : writeRoutes(registry)

function readLocal(
  { queryString, header, signal }: RequestContext,
  { spec, replica, select, tokens }: LocalListings,
): HandlerResponse | Promise<HandlerResponse> {
  const parameters = readListingParameters(queryString)
  const price = parsePriceQuestion(tokens, parameters.texts)
  requireEtag(header('if-match'), spec.etag)
  const status = readStatusParameter(parameters.status)
  // In the protocol, an unknown publisher is answered before the filters are checked.
  const { publisher } = parameters
  const { projection } = replica
  const { version } = projection.listings
  if (publisher !== null && projection.publisherOf(publisher) === null) return { body: renderEnvelope([], 0) }
  const query = { ...queryOf(spec, status, parameters), priceLimit: price.limit }
  if (price.sort === 'price') return readByPrice(query, price, { select, tokens }, signal)
  const { rows, total } = queryLocal(projection, query)
  const show = price.limit === undefined ? bytesOf : withPrice(comparisonWith(price.limit), tokens)
  const body = renderEnvelope(rows.map(show), total)
  const isCurrent = (): boolean =>
    replica.projection === projection && projection.listings.version === version
  return { body, isCurrent }
}

async function readByPrice(
  { limit, offset, ...query }: PageQuery,
  by: ByPrice,
  { select, tokens }: Pick<LocalListings, 'select' | 'tokens'>,
  signal: AbortSignal,
): Promise<HandlerResponse> {
  const selection = await select(query, signal)
  const order = orderOf(nameGroups([selection.offers(by.tokens)], by), by)
  const after = await nthPlace(selection, order, offset, signal)
  const priced = after === undefined ? [] : [...selection.byPrice(order, after).take(limit)]
  const items = priced.map(({ item }) => item)
  const body = renderEnvelope(items.map(withPrice(comparisonIn(order), tokens)), selection.total)
  return { body, isCurrent: selection.isCurrent }
}

/** Of the last of the first `count`; `null` for none, `undefined` beyond the end. */
async function nthPlace(
  selection: Selection,
  order: PriceOrder,
  count: number,
  signal: AbortSignal,
): Promise<PricePlace | null | undefined> {
  let place: PricePlace | null = null
  if (count >= selection.total) return count === 0 ? place : undefined
  for (let left = count; left > 0; left -= PASSED_PER_TURN) {
    for (const priced of selection.byPrice(order, place).take(Math.min(left, PASSED_PER_TURN)))
      place = priced.place
    await setImmediate()
    signal.throwIfAborted()
  }
  return place
}

/** Listings that are passed in one turn of the event loop: some ms. */
const PASSED_PER_TURN = 5000

function bytesOf({ bytes }: { bytes: Uint8Array }): Uint8Array {
  return bytes
}

const withPrice =
  (comparison: Comparison, tokens: TokenTable) =>
  ({ bytes }: { bytes: Uint8Array }): Uint8Array => {
    const price = itemPrice(bytes, comparison, tokens)
    return price === undefined ? bytes : withMember(bytes, '_meta', JSON.stringify({ price }))
  }

const OPEN_LISTING = Buffer.from('{"listing":')
const CLOSE_LISTING = Buffer.from('}')

const writeRoutes = (registry: WriteContext): Route[] => [
  {
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
      const { receipt, warnings } = await publishListing(objectBody(request), registry)
      return json({ ...toJson(receipt), warnings: warnings.length > 0 ? warnings : undefined }, 201)
    },
  },
  {
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
      const changed = await updateListing(request.params.id ?? '', objectBody(request), registry)
      const { listingId, status, updatedAt } = changed
      return json({ listing_id: listingId, status, updated_at: formatTimestamp(updatedAt) })
    },
  },
  {
    method: 'DELETE',
    path: '/listings/:id',
    gate: 'write',
    summary: 'Delete a listing permanently',
    description: 'Signed by its publisher over `delete_listing:<listing_id>:<timestamp>`.',
    parameters: [LISTING_ID, parameter('query', 'signature', '65 bytes in hex'), TIMESTAMP],
    responses: { 204: { description: 'Deleted' } },
    problems: [404, 409, 422],
    handle: async ({ params, query }) => {
      const timestamp = readIntegerParameter(TIMESTAMP, query.timestamp)
      await removeListing(params.id ?? '', { signature: query.signature, timestamp }, registry)
      return { status: 204 }
    },
  },
  {
    method: 'POST',
    path: '/api/v1/listings/validate-publish',
    gate: 'read',
    summary: 'Validate a listing against the listing shape',
    description: 'Writes nothing and needs no signature.',
    body: validateRequest,
    responses: {
      200: { description: 'The result, for a valid and an invalid listing alike', schema: validation },
    },
    handle: (request) => json(validateListing(objectBody(request).value, registry.shape.check)),
  },
]

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
