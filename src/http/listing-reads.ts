import { z } from 'zod'
import { EntrepotError } from '../errors.ts'
import type { FilterSpec } from '../filter-spec/filter.ts'
import { renderPage } from '../gateway/envelope.ts'
import { queryLocal } from '../registry/local-source.ts'
import type { Replica } from '../registry/replica.ts'
import { requireEtag } from './etag.ts'
import type { Answer, Exchange } from './exchange.ts'
import { filterParameters } from './filter-parameters.ts'
import { queryOf } from './listing-query.ts'
import {
  IF_MATCH,
  LIMIT,
  LISTING_ID,
  OFFSET,
  PUBLISHER,
  readListingParameters,
  readStatusParameter,
  STATUS,
} from './parameters.ts'
import type { Parameter, Route } from './route.ts'
import { envelope, listing } from './wire.ts'

export const listLocalListings = (spec: FilterSpec, replica: Replica): Route => ({
  method: 'GET',
  path: '/listings',
  gate: 'read',
  summary: 'List the listings that match',
  description:
    'Newest first. Every further query parameter is a filter of the filter spec; all have to match.',
  parameters: listingParameters(spec),
  answers: { 200: { description: 'A page of listings', schema: envelope } },
  refusals: [400, 412, 422],
  handle: (exchange) => readLocal(exchange, spec, replica),
})

export const listingParameters = (spec: FilterSpec): Parameter[] => [
  STATUS,
  PUBLISHER,
  LIMIT,
  OFFSET,
  IF_MATCH,
  ...filterParameters(spec),
]

function readLocal({ queryString, header }: Exchange, spec: FilterSpec, replica: Replica): Answer {
  const parameters = readListingParameters(queryString)
  requireEtag(header('if-match'), spec.etag)
  const status = readStatusParameter(parameters.status)
  // In the protocol, an unknown publisher is answered before the filters are checked.
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

export const getListing = (replica: Replica): Route => ({
  method: 'GET',
  path: '/listings/:id',
  gate: 'read',
  summary: 'One listing, whatever its status',
  parameters: [LISTING_ID],
  answers: { 200: { description: 'The listing', schema: z.object({ listing }) } },
  refusals: [404],
  handle: ({ params }) => {
    const row = replica.projection.listings.get(params.id ?? '')
    if (row === undefined) throw new EntrepotError('not_found', 'Listing not found')
    return { body: Buffer.concat([OPEN_LISTING, row.bytes, CLOSE_LISTING]) }
  },
})

const OPEN_LISTING = Buffer.from('{"listing":')
const CLOSE_LISTING = Buffer.from('}')
