import { z } from 'zod'
import { EntrepotError, type ErrorCode } from '../../errors.ts'
import { acceptsJson } from '../middleware/accept.ts'
import { objectBody } from '../middleware/body.ts'
import { type HandlerResponse, NO_STORE, type RequestContext, type Route } from '../route.ts'

export type McpHandler = (
  request: Request,
  context: Pick<RequestContext, 'reader' | 'signal' | 'trace'>,
) => Promise<Response>

const message = z
  .looseObject({
    jsonrpc: z.literal('2.0'),
    id: z.union([z.string(), z.number()]).optional(),
    method: z.string().optional(),
    params: z.looseObject({}).optional(),
    result: z.looseObject({}).optional(),
    error: z.looseObject({ code: z.number(), message: z.string() }).optional(),
  })
  .meta({ id: 'McpMessage', description: 'JSON-RPC 2.0, one message; there are no batches' })

/** MCP's streamable HTTP transport (2025-11-25), stateless, behind the read gate. */
export const mcpRoutes = (handler: McpHandler): Route[] => [
  {
    method: 'POST',
    path: '/mcp',
    gate: 'read',
    summary: 'Server of the Model Context Protocol, for agents',
    description:
      'Streamable HTTP without sessions: one message a request, its response as JSON, so `Accept` may ' +
      'name that alone. Tools: `search_listings`, `get_listing`, `market_overview`, ' +
      '`describe_filters`, `list_sources`. 403 for a request with an `Origin`, so that no page reaches a gateway on its reader’s network by ' +
      'DNS rebinding; pages use the other routes.',
    parameters: [
      {
        name: 'Accept',
        in: 'header',
        description: 'JSON, alone or beside others',
        schema: { type: 'string', default: BOTH },
      },
    ],
    body: message,
    responses: {
      200: { description: 'The response to a request', schema: message },
      202: { description: 'A notification was accepted' },
    },
    problems: [403, 406],
    handle: (request) => handleMessage(request, handler),
  },
]

async function handleMessage(context: RequestContext, door: McpHandler): Promise<HandlerResponse> {
  const { header, listHeader, reader, signal, trace } = context
  rejectBrowsers(header('origin'))
  const { bytes } = objectBody(context)
  const forwarded = FORWARDED.flatMap((name) => {
    const value = listHeader(name)
    return value === undefined ? [] : [[name, value] as const]
  })
  const accept = acceptsJson(listHeader('accept')) ? BOTH : ''
  const headers = { ...Object.fromEntries(forwarded), accept }
  const request = new Request(UNUSED_URL, {
    method: 'POST',
    headers,
    body: bytes,
  })
  const response = await door(request, { reader, signal, trace })
  const body = await response.text()
  if (response.status >= 400) throw toError(response.status, body)
  return { status: response.status, ...(body !== '' && { body }), headers: NO_STORE }
}

/** DNS rebinding (MCP, Transports, Security Warning): a page could resolve its own name to this server. */
function rejectBrowsers(origin: string | undefined): void {
  if (origin !== undefined)
    throw new EntrepotError(
      'forbidden',
      'POST /mcp is not for pages in browsers: send no Origin, or use GET /listings',
    )
}

/** A `Request` needs a URL, which the transport ignores. */
const UNUSED_URL = 'http://localhost/mcp'
/** The transport demands both, and answers in JSON. */
const BOTH = 'application/json, text/event-stream'
const FORWARDED = ['content-type', 'mcp-protocol-version']

function toError(status: number, body: string): EntrepotError {
  const { error } = JSON.parse(body) as { error: { message: string } }
  return new EntrepotError(CODES[status] ?? 'bad_request', error.message, { logged: NOT_MCP })
}

/** The messages repeat headers. */
const NOT_MCP = 'Not a request of the Model Context Protocol'

const CODES: Readonly<Record<number, ErrorCode>> = {
  406: 'not_acceptable',
  415: 'unsupported_media_type',
}
