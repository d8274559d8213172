import { pipeline, Readable } from 'node:stream'
import { promisify } from 'node:util'
import { constants, createGzip, gzip } from 'node:zlib'
import type { Middleware } from '../../request-state.ts'
import type { HandlerResponse } from '../../route.ts'
import { gzipMinimum } from '../accept.ts'

/**
 * Compresses the body of a read as `Accept-Encoding` asks for it; HEAD has the headers of GET. Sent as they are: answers to
 * writes, one of which holds a new key (docs/security.md), answers that are signed, and bodies with a strong etag, of which each coding
 * would need its own (RFC 9110 section 8.8.3.3).
 */
export function compressBodies(): Middleware {
  return async ({ req, state }, next) => {
    await next()
    const { method = 'GET' } = req
    const { response, signed } = state
    if ((method !== 'GET' && method !== 'HEAD') || signed !== undefined || !mayBeCompressed(response)) return
    const { Vary } = response.headers ?? {}
    const headers = {
      ...response.headers,
      Vary: Vary === undefined ? 'Accept-Encoding' : `${Vary}, Accept-Encoding`,
    }
    state.response = { ...response, headers }
    if (lengthOf(response) < gzipMinimum(req.headers['accept-encoding'])) return
    const body = await compressed(response, method)
    if (body !== null)
      state.response = { ...response, body, headers: { ...headers, 'Content-Encoding': 'gzip' } }
  }
}

function mayBeCompressed({ status, body, headers, isWatch }: HandlerResponse): boolean {
  // A compressor for each of a thousand watchers would take more than they do.
  if (isWatch) return false
  const etag = headers?.ETag
  return (body !== undefined || status === 304) && (etag === undefined || etag.startsWith('W/'))
}

/** Of a stream the length is unknown. */
const lengthOf = ({ body = '' }: HandlerResponse): number =>
  body instanceof Readable ? Number.MAX_VALUE : Buffer.byteLength(body)

/** The compressed body stays with the response, which may be sent again. */
async function compressed(response: HandlerResponse, method: string): Promise<Buffer | Readable | null> {
  const { body } = response
  if (body === undefined) return null
  // To compress a stream is to read it, which HEAD does not.
  if (body instanceof Readable) return method === 'HEAD' ? body : compressStream(body)
  response.gzipped ??= compressBuffer(typeof body === 'string' ? Buffer.from(body) : body)
  const bytes = await response.gzipped
  if (bytes === null) delete response.gzipped
  return bytes
}

/** Bodies that are being compressed in this process. More are sent as they are: compression is optional. */
const MAX_PENDING_BYTES = 32 * 1024 * 1024
/** A stream's share: the state of its compressor, and the chunks around it. */
const STREAM_BYTES = 512 * 1024

let pendingBytes = 0

/** In other threads, whatever the size of the body. `null` beyond `MAX_PENDING_BYTES`. Never rejects. */
async function compressBuffer(body: Buffer): Promise<Buffer | null> {
  const release = reserve(body.length)
  if (release === null) return null
  try {
    return await gzipBuffer(body)
  } catch {
    return null // without memory for a compressor, the body is sent as it is
  } finally {
    release()
  }
}

const gzipBuffer = promisify<Buffer, Buffer>(gzip)

/**
 * Each chunk is flushed, so that a line is not delayed by the compressor's buffer. The fastest level, since a stream may
 * be the whole market (`npm run bench -- stream`).
 */
function compressStream(source: Readable): Readable | null {
  const release = reserve(STREAM_BYTES)
  if (release === null) return null
  const compressed = createGzip({ flush: constants.Z_SYNC_FLUSH, level: constants.Z_BEST_SPEED })
  // A fault of either stream destroys the other.
  pipeline(source, compressed, release)
  return compressed
}

function reserve(bytes: number): (() => void) | null {
  if (pendingBytes + bytes > MAX_PENDING_BYTES) return null
  pendingBytes += bytes
  return () => {
    pendingBytes -= bytes
  }
}
