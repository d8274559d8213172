import { version } from '../config/version.ts'
import { type DiscoverableFederation, discoverFederation } from '../gateway/discover-federation.ts'
import type { AgentsDoor } from '../http/routes/mcp.ts'
import type { Logger } from '../log.ts'
import { EarlierPages } from '../mcp/earlier-pages.ts'

/** The agents' tools over what a reader sees. Loads the protocol with the first request. */
export function openAgentsDoor(federation: DiscoverableFederation, log: Logger): AgentsDoor {
  const earlier = new EarlierPages()
  return async (request, { reader, signal, trace }) => {
    const { answerHttp } = await import('../mcp/server.ts')
    const discovery = earlier.dropRepeats(discoverFederation(federation, reader, trace))
    return answerHttp(request, discovery, {
      version: version(),
      signal,
      onFault: (cause) => log.error({ err: cause }, 'unhandled fault of a tool'),
    })
  }
}
