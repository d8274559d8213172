import type { FilterSpec } from '../filter-spec/filter.ts'
import { renderFilterSpec } from '../filter-spec/wire.ts'
import { namesEtag } from './etag.ts'
import type { Handler } from './exchange.ts'

/** `GET /filter-spec`: the vocabulary, with a strong ETag (`protocol.md` 1.13, 8). */
export const getFilterSpec = (spec: FilterSpec): Handler => {
  const body = renderFilterSpec(spec)
  const headers = { ETag: `"${spec.etag}"` }
  return ({ header }) =>
    namesEtag(header('if-none-match'), spec.etag) ? { status: 304, headers } : { body, headers }
}
