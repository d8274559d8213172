import type { FilterSpec } from '../filter-spec/filter.ts'
import { renderMerged } from '../gateway/envelope.ts'
import type { Federation } from '../gateway/fan-out.ts'
import { requireEtag } from './etag.ts'
import { queryOf } from './listing-query.ts'
import { listingParameters } from './listing-reads.ts'
import { readListingParameters, readStatusParameter } from './parameters.ts'
import type { Route } from './route.ts'
import { envelope } from './wire.ts'

/** `GET /listings` of a gateway: the merged envelope of `contract.md` 3.1. */
export const listMergedListings = (spec: FilterSpec, federation: Federation): Route => ({
  method: 'GET',
  path: '/listings',
  gate: 'read',
  summary: 'List the listings that match, of every source that the reader may see',
  description:
    'Newest first. Every further query parameter is a filter of the filter spec; all have to match.',
  parameters: listingParameters(spec),
  answers: { 200: { description: 'A page of listings, and how each source answered', schema: envelope } },
  refusals: [400, 412, 422, 503, 504],
  handle: async ({ queryString, header, reader, signal }) => {
    const parameters = readListingParameters(queryString)
    requireEtag(header('if-match'), spec.etag)
    const status = readStatusParameter(parameters.status)
    const answer = await federation(queryOf(spec, status, parameters), reader, signal)
    return { body: renderMerged(answer) }
  },
})
