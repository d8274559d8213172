import { pipeline, type Readable, type Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { SourceError } from '../domain/source-error.ts'

/** What we say we can read. */
export const ACCEPT_ENCODING = 'gzip, br'

/**
 * Reads a body to its end, decompressed. Ends as soon as there are more than `limit` bytes after decompression, which
 * is what makes a decompression bomb end early.
 * @throws SourceError `too_large`; `not_json` for an encoding that nobody asked for
 */
export const readBody = async (
  body: Readable,
  encoding: string | undefined,
  limit: number,
): Promise<Buffer> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of decompress(body, encoding) as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > limit) throw new SourceError('too_large', `the answer is longer than ${limit} bytes`)
    chunks.push(chunk)
  }
  return joined(chunks, size)
}

/** Never out of Node's pool: who keeps a small body would keep the rest of its slab too. */
const joined = (chunks: readonly Buffer[], size: number): Buffer => {
  const whole = Buffer.allocUnsafeSlow(size)
  let end = 0
  for (const chunk of chunks) end += chunk.copy(whole, end)
  return whole
}

/** Closes the connection under a body that nobody reads, whose error event would else end the process. */
export const discardBody = (body: Readable): void => {
  body.on('error', () => {}).destroy()
}

const decompress = (body: Readable, encoding = 'identity'): Readable => {
  const name = encoding.trim().toLowerCase()
  if (name === 'identity' || name === '') return body
  const decoder = DECODERS.get(name)?.()
  if (decoder === undefined) {
    discardBody(body)
    throw new SourceError('not_json', `the answer has the Content-Encoding ${JSON.stringify(name)}`)
  }
  // The iteration above sees the error of either stream on the decoder.
  return pipeline(body, decoder, () => {})
}

const DECODERS: ReadonlyMap<string, () => Transform> = new Map<string, () => Transform>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
])
