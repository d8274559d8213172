import type { Readable, Writable } from 'node:stream'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import {
  CancelledNotificationSchema,
  isJSONRPCRequest,
  type RequestId,
} from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'
import type { Market } from '../gateway/market.ts'
import { createServer, type ServerOptions } from './server.ts'

/** Longest message, and most input buffered for one; more ends the session. */
const MAX_MESSAGE_BYTES = 1024 * 1024

type Stdio = { stdin: Readable; stdout: Writable }

/** Runs until the client closes its end and all requests are answered. `stdout` carries only messages. */
export async function serveStdio(
  market: Market,
  { stdin, stdout }: Stdio,
  options: ServerOptions,
): Promise<void> {
  const transport = new StdioServerTransport(stdin, stdout, { maxBufferSize: MAX_MESSAGE_BYTES })
  const server = createServer(market, options)
  server.server.onerror = (cause) => {
    const error = cause instanceof SyntaxError ? NOT_JSON : cause instanceof z.ZodError ? NOT_A_MESSAGE : null
    if (error === null) options.onError(cause)
    else stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: null, error })}\n`)
  }
  await server.connect(transport)
  const answered = countAnswers(transport)
  await new Promise<void>((resolve) => {
    server.server.onclose = resolve
    stdin.once('end', () => void answered().then(resolve))
    stdin.once('close', () => void answered().then(resolve))
    stdout.once('error', () => resolve())
  })
  await server.close()
}

/** JSON-RPC 2.0 section 5.1. */
const NOT_JSON = { code: -32700, message: 'Parse error: the line is not JSON' }
const NOT_A_MESSAGE = { code: -32600, message: 'Invalid Request: the line is not a JSON-RPC message' }

/** Resolves once every request so far is answered. */
function countAnswers(transport: StdioServerTransport): () => Promise<void> {
  const open = new Set<RequestId>()
  let whenDone = (): void => {}
  const { onmessage } = transport
  transport.onmessage = (message) => {
    const cancelled = CancelledNotificationSchema.safeParse(message)
    if (isJSONRPCRequest(message)) open.add(message.id)
    // Cancelled requests get no answer.
    else if (cancelled.success) open.delete(cancelled.data.params.requestId ?? '')
    onmessage?.(message)
  }
  const send = transport.send.bind(transport)
  transport.send = async (message) => {
    await send(message)
    if ('id' in message && message.id !== undefined) open.delete(message.id)
    if (open.size === 0) whenDone()
  }
  return () =>
    new Promise((resolve) => {
      whenDone = resolve
      if (open.size === 0) resolve()
    })
}
