import type { FilterSpec } from '../filter-spec/filter.ts'
import { renderMerged } from '../gateway/envelope.ts'
import type { Federation } from '../gateway/fan-out.ts'
import { requireEtag } from './etag.ts'
import type { Handler } from './exchange.ts'
import { queryOf } from './listing-query.ts'
import { readListingParameters, readStatusParameter } from './parameters.ts'

/** `GET /listings` of a gateway: the merged envelope of `contract.md` 3.1. */
export const listMergedListings =
  (spec: FilterSpec, federation: Federation): Handler =>
  async ({ queryString, header, reader, signal }) => {
    const parameters = readListingParameters(queryString)
    requireEtag(header('if-match'), spec.etag)
    const status = readStatusParameter(parameters.status)
    const answer = await federation(queryOf(spec, status, parameters), reader, signal)
    return { body: renderMerged(answer) }
  }
