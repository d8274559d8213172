import { z } from 'zod'
import { EntrepotError } from '../errors.ts'
import { parseCdnLoop } from '../gateway/cdn-loop.ts'
import { renderItem } from '../gateway/envelope.ts'
import type { FindListing } from '../gateway/find-listing.ts'
import type { Answer, Exchange } from './exchange.ts'
import { type MergedHeaderOptions, oneListingHeaders } from './merged-headers.ts'
import { mergedListing, sourceReport } from './merged-wire.ts'
import { LISTING_ID } from './parameters.ts'
import { requestCaching } from './request-caching.ts'
import type { Parameter, Route } from './route.ts'

export type MergedListing = MergedHeaderOptions & { find: FindListing }

const REGISTRY: Parameter = {
  name: 'registry',
  in: 'query',
  description:
    'The one source to ask, by its name or as `_meta.registry` shows it; default: all visible ones',
  schema: { type: 'string' },
}

export const getMergedListing = (gateway: MergedListing): Route => ({
  method: 'GET',
  path: '/listings/:id',
  gate: 'read',
  summary: 'One listing, whatever its status: the best copy of all sources',
  description:
    'All sources are asked, and the best copy is shown as soon as every better source has answered. Where one of those ' +
    'did not, `complete` is false, `sources` says why, and the answer is not to be cached. 404 only if every source ' +
    'answered that it has no such listing.',
  parameters: [LISTING_ID, REGISTRY],
  answers: {
    200: {
      description: 'The listing',
      schema: z.object({
        listing: mergedListing,
        complete: z.boolean().optional().describe('Only where false'),
        sources: z.array(sourceReport).optional().describe('Only where `complete` is false'),
      }),
    },
  },
  refusals: [400, 404, 502, 503, 504, 508],
  handle: (exchange) => readOne(exchange, gateway),
})

async function readOne(exchange: Exchange, gateway: MergedListing): Promise<Answer> {
  const { params, query, listHeader, reader, signal, trace } = exchange
  const { via, isLoop } = parseCdnLoop(listHeader('cdn-loop'), gateway.gatewayId)
  const caching = requestCaching(listHeader('cache-control'), listHeader('pragma'))
  const asked = {
    ...ONE,
    listingId: params.id ?? '',
    via,
    ...(caching === undefined ? {} : { caching }),
    ...(trace === undefined ? {} : { trace }),
  }
  // `eu/curated` belongs to the source `eu`.
  const source = (query.get('registry') || null)?.split('/', 1)[0]
  const named = source === undefined ? null : [source]
  const found = await gateway.find(asked, { reader, signal, options: { named, isLoop } })
  if (found.merged === null) throw new EntrepotError('not_found', 'Listing not found')
  const end = found.complete ? '}' : `,"complete":false,"sources":${JSON.stringify(found.sources)}}`
  return {
    body: Buffer.concat([OPEN_LISTING, renderItem(found.merged), Buffer.from(end)]),
    headers: oneListingHeaders(found, reader, gateway),
  }
}

const ONE = { status: null, publisher: null, criteria: [], filters: [] }

const OPEN_LISTING = Buffer.from('{"listing":')
