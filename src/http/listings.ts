import { formatTimestamp } from '../domain/timestamp.ts'
import { EntrepotError } from '../errors.ts'
import type { FilterSpec } from '../filter-spec/filter.ts'
import { renderPage } from '../gateway/envelope.ts'
import { queryLocal } from '../registry/local-source.ts'
import { type Publishing, publishListing } from '../registry/publish.ts'
import { removeListing } from '../registry/remove.ts'
import type { Replica } from '../registry/replica.ts'
import { updateListing } from '../registry/update.ts'
import { objectBody } from './body.ts'
import { requireEtag } from './etag.ts'
import { type Handler, json } from './exchange.ts'
import { queryOf } from './listing-query.ts'
import { readListingParameters, readQueryInteger, readStatusParameter } from './parameters.ts'
import { receiptOnWire } from './receipt.ts'

/** `GET /listings` of a plain Registry: exactly the three members of `spec.md` 2.1. */
export const listLocalListings =
  (spec: FilterSpec, replica: Replica): Handler =>
  ({ queryString, header }) => {
    const parameters = readListingParameters(queryString)
    requireEtag(header('if-match'), spec.etag)
    const status = readStatusParameter(parameters.status)
    // The protocol answers an unknown publisher before it looks at the filters (`protocol.md` 1.7).
    const { publisher } = parameters
    const { projection } = replica
    const { version } = projection.listings
    if (publisher !== null && projection.publisherOf(publisher) === null) return { body: renderPage([], 0) }
    const { rows, total } = queryLocal(projection, queryOf(spec, status, parameters))
    const body = renderPage(
      rows.map(({ bytes }) => bytes),
      total,
    )
    const isCurrent = (): boolean =>
      replica.projection === projection && projection.listings.version === version
    return { body, isCurrent }
  }

/** `GET /listings/{id}`, any status (`protocol.md` 1.6). */
export const getListing =
  (replica: Replica): Handler =>
  ({ params }) => {
    const row = replica.projection.listings.get(params.id ?? '')
    if (row === undefined) throw new EntrepotError('not_found', 'Listing not found')
    return { body: Buffer.concat([OPEN_LISTING, row.bytes, CLOSE_LISTING]) }
  }

/** `POST /listings`: 201, also for a re-publish (`protocol.md` 1.5). */
export const postListing =
  (publishing: Publishing): Handler =>
  async (exchange) =>
    json(receiptOnWire(await publishListing(objectBody(exchange), publishing)), 201)

/** `PUT /listings/{id}`: status and oracle (`protocol.md` 1.8). */
export const putListing =
  (publishing: Publishing): Handler =>
  async (exchange) => {
    const { listingId, status, updatedAt } = await updateListing(
      exchange.params.id ?? '',
      objectBody(exchange),
      publishing,
    )
    return json({ listing_id: listingId, status, updated_at: formatTimestamp(updatedAt) })
  }

/** `DELETE /listings/{id}?signature=…&timestamp=…`: 204 (`protocol.md` 1.9). */
export const deleteListing =
  (publishing: Publishing): Handler =>
  async ({ params, query }) => {
    const timestamp = readQueryInteger('timestamp', query.get('timestamp'))
    await removeListing(params.id ?? '', { signature: query.get('signature'), timestamp }, publishing)
    return { status: 204 }
  }

const OPEN_LISTING = Buffer.from('{"listing":')
const CLOSE_LISTING = Buffer.from('}')
