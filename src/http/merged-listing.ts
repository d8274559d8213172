import { z } from 'zod'
import { EntrepotError } from '../errors.ts'
import { renderItem } from '../gateway/envelope.ts'
import type { FindListing } from '../gateway/find-listing.ts'
import { passageOf } from '../gateway/loop.ts'
import type { Answer, Exchange } from './exchange.ts'
import { type MergedHeaderOptions, oneListingHeaders } from './merged-headers.ts'
import { mergedListing } from './merged-wire.ts'
import { LISTING_ID } from './parameters.ts'
import { requestCaching } from './request-caching.ts'
import type { Parameter, Route } from './route.ts'

export type MergedListing = MergedHeaderOptions & { find: FindListing }

const REGISTRY: Parameter = {
  name: 'registry',
  in: 'query',
  description: 'Name of the one source to ask; default: all that the reader may see',
  schema: { type: 'string' },
}

/** `GET /listings/{id}` of a gateway (`contract.md` 3.2): any status, from whichever source has it. */
export const getMergedListing = (gateway: MergedListing): Route => ({
  method: 'GET',
  path: '/listings/:id',
  gate: 'read',
  summary: 'One listing, whatever its status, of the first source that has it',
  description:
    'The local Registry first, then the upstreams by priority. 404 only if every one of them said so.',
  parameters: [LISTING_ID, REGISTRY],
  answers: { 200: { description: 'The listing', schema: z.object({ listing: mergedListing }) } },
  refusals: [400, 404, 502, 503, 504, 508],
  handle: (exchange) => readOne(exchange, gateway),
})

const readOne = async (exchange: Exchange, gateway: MergedListing): Promise<Answer> => {
  const { params, query, listHeader, reader, signal, trace } = exchange
  const { via, isLoop } = passageOf(listHeader('cdn-loop'), gateway.gatewayId)
  const caching = requestCaching(listHeader('cache-control'), listHeader('pragma'))
  const registry = query.get('registry') || null
  const asked = {
    ...ONE,
    listingId: params.id ?? '',
    via,
    ...(caching === undefined ? {} : { caching }),
    ...(trace === undefined ? {} : { trace }),
  }
  const named = registry === null ? null : [registry]
  const { merged, outcomes } = await gateway.find(asked, reader, signal, { named, isLoop })
  if (merged === null) throw new EntrepotError('not_found', 'Listing not found')
  return {
    body: Buffer.concat([OPEN_LISTING, renderItem(merged), CLOSE_LISTING]),
    headers: oneListingHeaders(outcomes, reader, gateway),
  }
}

const ONE = { status: null, publisher: null, criteria: [], filters: [], limit: 1, offset: 0 }

const OPEN_LISTING = Buffer.from('{"listing":')
const CLOSE_LISTING = Buffer.from('}')
