import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import type { Discovery } from '../gateway/discovery.ts'
import { createServer, type ServerOptions } from './create-server.ts'

/**
 * Answers one message of the streamable HTTP transport (MCP 2025-11-25, Transports). Stateless: a server for each
 * message and no session, so that any replica can answer the next one; as JSON, since nothing is sent but the answer.
 */
export const answerHttp = async (
  request: Request,
  discovery: Discovery,
  options: ServerOptions,
): Promise<Response> => {
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  const server = createServer(discovery, options)
  await server.connect(transport)
  try {
    return await transport.handleRequest(request)
  } finally {
    await server.close()
  }
}
