import { koaBody } from 'koa-body'
import { EntrepotError } from '../../errors.ts'
import { depthProblem, sizeProblem } from '../../json/limits.ts'
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../../json/value.ts'
import type { KoaContext, Middleware } from '../request-state.ts'
import type { RequestContext } from '../route.ts'

export const MAX_BODY_BYTES = 256 * 1024

const JSON_TYPE = /^application\/(json|[\w.+-]+\+json)\s*(;|$)/i

/** One character a byte, so that nothing is parsed, decoded or replaced before the limits are checked. */
const readText = koaBody({
  json: false,
  urlencoded: false,
  textLimit: MAX_BODY_BYTES,
  encoding: 'binary',
})

/** After gate and limits: reading and parsing the body is the cost of a hostile request. */
export function readBody(): Middleware {
  return (context, next) => {
    const { state } = context
    if (state.body !== undefined) return next()
    state.body = null
    if (state.route.body === undefined) return next()
    return readJsonBody(context).then((body) => {
      state.body = body
      return next()
    })
  }
}

/**
 * Reads and parses JSON, whose byte order mark is dropped; `null` for an empty body.
 * @throws EntrepotError `too_large`, `unsupported_media_type`, `bad_request` (cut off) or `invalid`
 */
async function readJsonBody(context: KoaContext): Promise<RequestContext['body']> {
  const bytes = await readJsonBytes(context)
  if (bytes === null) return null
  // Before parsing: bodies over these limits are the most expensive to parse.
  const problem = depthProblem(bytes) ?? sizeProblem(bytes)
  if (problem !== null) throw invalid(problem)
  return { bytes, value: decodeJson(bytes) }
}

/** Without the byte order mark; `null` for an empty body. @throws EntrepotError as above, but for what the bytes hold */
export async function readJsonBytes(context: KoaContext): Promise<Buffer | null> {
  const { headers } = context.req
  // As in the deployed protocol, a body without a type is JSON.
  const { 'content-type': type = 'application/json' } = headers
  // koa-body does not read a body whose type is missing or malformed.
  headers['content-type'] = 'text/plain'
  const received = await readBytes(context)
  if (received.length === 0) return null
  if (!JSON_TYPE.test(type)) throw invalid('Input should be a valid dictionary: send it as application/json')
  return withoutMark(received)
}

const BYTE_ORDER_MARK = Buffer.from('\ufeff')

function withoutMark(bytes: Buffer): Buffer {
  const start = bytes.subarray(0, BYTE_ORDER_MARK.length)
  return start.equals(BYTE_ORDER_MARK) ? bytes.subarray(start.length) : bytes
}

async function readBytes(context: KoaContext): Promise<Buffer> {
  const { headers } = context.req
  const encoding = headers['content-encoding'] ?? 'identity'
  if (encoding !== 'identity')
    throw new EntrepotError(
      'unsupported_media_type',
      `Content-Encoding ${JSON.stringify(encoding)} is not accepted: send the body without it`,
    )
  // koa-body takes the length modulo 2^32.
  if (Number(headers['content-length']) > MAX_BODY_BYTES) throw tooLarge()
  try {
    await readText(context, async () => {})
  } catch (cause) {
    const { type } = cause as { type?: string }
    if (type === 'entity.too.large') throw tooLarge()
    if (context.req.destroyed || type === 'request.size.invalid')
      throw new EntrepotError('bad_request', 'The body ended early', { cause })
    // koa-body loads its decoder with the first body, which fails without file descriptors.
    throw new EntrepotError('unavailable', 'The body could not be read', { cause })
  }
  return Buffer.from(String(context.request.body ?? ''), 'binary')
}

const tooLarge = (): EntrepotError =>
  new EntrepotError('too_large', `The body is larger than ${MAX_BODY_BYTES} bytes`, {
    headers: { Connection: 'close' },
    limit: 'body_bytes',
  })

/** @throws EntrepotError `invalid` */
export function decodeJson(bytes: Buffer): JsonValue {
  try {
    return parseJson(UTF8.decode(bytes))
  } catch (cause) {
    throw invalid(`JSON decode error: ${(cause as Error).message}`)
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** @throws EntrepotError `invalid` (422), in the deployed protocol's words */
export function objectBody({ body }: Pick<RequestContext, 'body'>): { bytes: Buffer; value: JsonObject } {
  if (body === null || body.value === null) throw invalid('Field required')
  if (!isJsonObject(body.value)) throw invalid('Input should be a valid dictionary')
  return { bytes: body.bytes, value: body.value }
}

const invalid = (message: string): EntrepotError =>
  new EntrepotError('invalid', message, { errors: [{ path: 'body', message }] })
