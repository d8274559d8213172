import type { Market } from '../../gateway/market.ts'
import { filterSpecSchema } from '../../wire/filter-spec.ts'
import { IF_NONE_MATCH, NOT_MODIFIED } from '../parameters.ts'
import type { Route } from '../route.ts'

const MAX_WAIT_MS = 4000

export const filterSpecRoutes = (market: Market): Route[] => [
  {
    method: 'GET',
    path: '/filter-spec',
    gate: 'read',
    summary: 'Filter vocabulary and listing schema',
    description:
      'At a gateway: its own filter spec, then the filters that only upstreams declare, with the names of those upstreams.',
    parameters: [IF_NONE_MATCH],
    responses: {
      200: { description: 'The filter vocabulary and the listing shape', schema: filterSpecSchema },
      304: NOT_MODIFIED,
    },
    handle: async ({ header, reader, signal }) => {
      const request = { reader, signal, cdnLoop: header('cdn-loop'), budgetMs: MAX_WAIT_MS }
      const { etag, body } = await market.filterSpec(request)
      return { body, headers: { ETag: `"${etag}"`, Vary: 'Authorization' } }
    },
  },
]
