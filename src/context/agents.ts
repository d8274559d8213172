import { version } from '../config/version.ts'
import { type DiscoverableFederation, discoverFederation } from '../gateway/discover-federation.ts'
import type { AgentsDoor } from '../http/agents.ts'
import type { Logger } from '../log.ts'

/** The agents' tools over what a reader sees. The protocol is loaded with the first request. */
export const openAgentsDoor =
  (federation: DiscoverableFederation, log: Logger): AgentsDoor =>
  async (request, { reader, signal, trace }) => {
    const { answerHttp } = await import('../mcp/answer-http.ts')
    return answerHttp(request, discoverFederation(federation, reader, trace), {
      version: version(),
      signal,
      onFault: (cause) => log.error({ err: cause }, 'unhandled fault of a tool'),
    })
  }
