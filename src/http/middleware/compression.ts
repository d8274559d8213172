import { pipeline, Readable } from 'node:stream'
import { promisify } from 'node:util'
import { constants, createGzip, gzip } from 'node:zlib'
import type Koa from 'koa'
import type { HandlerResponse } from '../route.ts'
import { gzipMinimum } from './accept.ts'

/**
 * Compresses the body of a read as `Accept-Encoding` asks for it; HEAD has the headers of GET. Sent as they are: answers to
 * writes, one of which holds a new key (docs/security.md), and bodies with a strong etag, of which each coding
 * would need its own (RFC 9110 section 8.8.3.3).
 * @returns the compressed body, unless it is a stream
 */
export async function compress(
  context: Koa.Context,
  { body, gzipped }: Pick<HandlerResponse, 'body' | 'gzipped'>,
): Promise<Buffer | null> {
  const { method } = context
  if (body === undefined || (method !== 'GET' && method !== 'HEAD')) return null
  const etag = context.res.getHeader('ETag')
  if (etag !== undefined && !String(etag).startsWith('W/')) return null
  context.vary('Accept-Encoding')
  const size = body instanceof Readable ? Number.MAX_VALUE : Buffer.byteLength(body)
  if (size < gzipMinimum(context.req.headers['accept-encoding'])) return null
  if (context.status === 304) return null
  if (body instanceof Readable) {
    // To compress a stream is to read it, which HEAD does not.
    const compressed = method === 'HEAD' ? body : compressStream(body)
    if (compressed !== null) setGzip(context, compressed)
    return null
  }
  const compressed = gzipped ?? (await compressBody(typeof body === 'string' ? Buffer.from(body) : body))
  if (compressed !== null) setGzip(context, compressed)
  return compressed
}

function setGzip(context: Koa.Context, body: Buffer | Readable): void {
  context.set('Content-Encoding', 'gzip')
  context.body = body
}

/** Bodies that are being compressed in this process. More are sent as they are: compression is optional. */
const MAX_PENDING_BYTES = 32 * 1024 * 1024
/** A stream's share: the state of its compressor, and the chunks around it. */
const STREAM_BYTES = 512 * 1024

let pendingBytes = 0

/** In other threads, whatever the size of the body. `null` beyond `MAX_PENDING_BYTES`. Never rejects. */
export async function compressBody(body: Buffer): Promise<Buffer | null> {
  const release = reserve(body.length)
  if (release === null) return null
  try {
    return await gzipped(body)
  } catch {
    return null // without memory for a compressor, the body is sent as it is
  } finally {
    release()
  }
}

const gzipped = promisify<Buffer, Buffer>(gzip)

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
