import { Readable } from 'node:stream'
import type { KoaContext, Middleware } from '../../request-state.ts'
import { heldBytes, type UnsentBytes } from './unsent-bytes.ts'

const JSON_TYPE = 'application/json; charset=utf-8'
/** A connection shows that its reader takes something only when a write ends: `connections.ts`. */
const MAX_WRITE_BYTES = 256 * 1024

/** Sends the answer. Most need not pass Koa's setters, which would take as long as the rest of a repeated read. */
export function respond(unsent: UnsentBytes): Middleware {
  return async (context, next) => {
    await next()
    const { req, res, state } = context
    // The client has closed the connection.
    if (state.response === undefined) return
    const { status = 200, type = JSON_TYPE, body, headers } = state.response
    if (body === undefined) {
      const isEmpty = status === 204 || status === 304
      const length = isEmpty ? {} : { 'Content-Length': '0' }
      res.writeHead(status, { ...state.headers, ...headers, ...length }).end()
      return
    }
    const bytes = heldBytes(state.response)
    const all = { ...state.headers, ...headers, 'Content-Type': type }
    if (body instanceof Readable) stream(context, status, all, body)
    else {
      const complete = Object.assign(all, { 'Content-Length': String(bytes) })
      if (bytes > MAX_WRITE_BYTES) stream(context, status, complete, inParts(body))
      else res.writeHead(status, complete).end(body)
    }
    const isTaken = res.writableEnded && res.socket?.writableLength === 0
    if (!isTaken) unsent.count(req, res, bytes)
  }
}

/** Koa stops the stream when the connection closes. */
function stream(context: KoaContext, status: number, headers: Record<string, string>, body: Readable): void {
  context.set(headers)
  context.status = status
  context.body = body
}

function inParts(body: string | Buffer): Readable {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  return Readable.from(partsOf(bytes), { objectMode: false })
}

function* partsOf(body: Buffer): Generator<Buffer> {
  for (let start = 0; start < body.length; start += MAX_WRITE_BYTES)
    yield body.subarray(start, start + MAX_WRITE_BYTES)
}
