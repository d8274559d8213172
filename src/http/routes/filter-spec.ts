import type { ReadVocabulary } from '../../gateway/vocabulary.ts'
import { filterSpecSchema } from '../../wire/filter-spec.ts'
import { IF_NONE_MATCH, NOT_MODIFIED } from '../parameters.ts'
import type { Route } from '../route.ts'

const MAX_WAIT_MS = 4000

export const filterSpecRoutes = (vocabulary: ReadVocabulary): Route[] => [
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
      // Two gateways that start together and request each other must not wait for each other.
      const isGateway = header('cdn-loop') !== undefined
      const deadline = { ms: MAX_WAIT_MS, caller: signal }
      const { etag, body } = await vocabulary(reader, deadline, isGateway ? [] : undefined)
      return { body, headers: { ETag: `"${etag}"`, Vary: 'Authorization' } }
    },
  },
]
