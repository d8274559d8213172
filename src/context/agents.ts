import { version } from '../config/version.ts'
import { createDiscovery, type Federation } from '../gateway/discover-federation.ts'
import type { McpHandler } from '../http/routes/mcp.ts'
import type { Logger } from '../log.ts'
import { RepeatFilter } from '../mcp/repeat-filter.ts'

/** The agents' tools over what a reader sees. Loads the protocol with the first request. */
export function openAgentsDoor(federation: Federation, log: Logger): McpHandler {
  const repeats = new RepeatFilter()
  return async (request, { reader, signal, trace }) => {
    const { handleHttp } = await import('../mcp/server.ts')
    const discovery = repeats.dropRepeats(createDiscovery(federation, reader, trace))
    return handleHttp(request, discovery, {
      version: version(),
      signal,
      onError: (cause) => log.error({ err: cause }, 'unhandled fault of a tool'),
    })
  }
}
