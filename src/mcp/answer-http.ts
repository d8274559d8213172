import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import type { Discovery } from '../gateway/discovery.ts'
import { createServer, type ServerOptions } from './create-server.ts'

/** Streamable HTTP (MCP 2025-11-25, Transports). Stateless: any replica can answer the next message. */
export async function answerHttp(
  request: Request,
  discovery: Discovery,
  options: ServerOptions,
): Promise<Response> {
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  const server = createServer(discovery, options)
  await server.connect(transport)
  try {
    return await transport.handleRequest(request)
  } finally {
    await server.close()
  }
}
