import type { IncomingMessage } from 'node:http'
import getRawBody from 'raw-body'
import { EntrepotError } from '../../errors.ts'
import { depthProblem, sizeProblem } from '../../json/limits.ts'
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../../json/value.ts'
import type { RequestContext } from '../route.ts'

export const MAX_BODY_BYTES = 256 * 1024

const JSON_TYPE = /^application\/(json|[\w.+-]+\+json)\s*(;|$)/i

/**
 * Reads and parses JSON; `null` for an empty body.
 * @throws EntrepotError `too_large`, `unsupported_media_type`, `bad_request` (cut off) or `invalid`
 */
export async function readJsonBody(request: IncomingMessage): Promise<RequestContext['body']> {
  const bytes = await readBytes(request)
  if (bytes.length === 0) return null
  const type = request.headers['content-type']
  if (type !== undefined && !JSON_TYPE.test(type))
    throw invalid('Input should be a valid dictionary: send it as application/json')
  // Before parsing: bodies over these limits are the most expensive to parse.
  refuse(depthProblem(bytes) ?? sizeProblem(bytes))
  return { bytes, value: decode(bytes) }
}

/** @throws EntrepotError `invalid` (422), in the deployed protocol's words */
export function objectBody({ body }: RequestContext): { bytes: Buffer; value: JsonObject } {
  if (body === null || body.value === null) throw invalid('Field required')
  if (!isJsonObject(body.value)) throw invalid('Input should be a valid dictionary')
  return { bytes: body.bytes, value: body.value }
}

async function readBytes(request: IncomingMessage): Promise<Buffer> {
  const encoding = request.headers['content-encoding'] ?? 'identity'
  if (encoding !== 'identity')
    throw new EntrepotError(
      'unsupported_media_type',
      `Content-Encoding ${encoding} is not accepted; send it plain`,
    )
  try {
    return await getRawBody(request, {
      limit: MAX_BODY_BYTES,
      length: request.headers['content-length'] ?? null,
    })
  } catch (cause) {
    if ((cause as { type?: string }).type === 'entity.too.large')
      throw new EntrepotError('too_large', `The body is larger than ${MAX_BODY_BYTES} bytes`, {
        headers: { Connection: 'close' },
      })
    throw new EntrepotError('bad_request', 'The body ended early', { cause })
  }
}

function decode(bytes: Buffer): JsonValue {
  try {
    return parseJson(UTF8.decode(bytes))
  } catch (cause) {
    throw invalid(`JSON decode error: ${(cause as Error).message}`)
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function refuse(problem: string | null): void {
  if (problem !== null) throw invalid(problem)
}

const invalid = (message: string): EntrepotError =>
  new EntrepotError('invalid', message, { errors: [{ path: 'body', message }] })
