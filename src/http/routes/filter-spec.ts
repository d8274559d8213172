import type { ReadVocabulary } from '../../gateway/vocabulary.ts'
import { filterSpecSchema } from '../../wire/filter-spec.ts'
import { IF_NONE_MATCH } from '../parameters.ts'
import type { Route } from '../route.ts'

const MAX_WAIT_MS = 4000

export const getFilterSpec = (vocabulary: ReadVocabulary): Route => ({
  method: 'GET',
  path: '/filter-spec',
  gate: 'read',
  summary: 'What may be asked, and what a listing looks like',
  description:
    'At a gateway: our own spec, and behind it the filters that only upstreams declare, each with their names.',
  parameters: [IF_NONE_MATCH],
  responses: {
    200: { description: 'The filter vocabulary and the listing shape', schema: filterSpecSchema },
    304: { description: 'It is the one that you know' },
  },
  handle: async ({ header, reader, signal }) => {
    // Two gateways that start together and request each other must not wait for each other.
    const isGateway = header('cdn-loop') !== undefined
    const deadline = { ms: MAX_WAIT_MS, caller: signal }
    const { etag, body } = await vocabulary(reader, deadline, isGateway ? [] : undefined)
    return { body, headers: { ETag: `"${etag}"`, Vary: 'Authorization' } }
  },
})
