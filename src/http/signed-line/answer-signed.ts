import { Readable } from 'node:stream'
import { at, formatJson, isJsonObject, type JsonObject, parseJson } from '../../json/value.ts'
import { endWrite } from '../../registry/write/signed-write.ts'
import { bodyHash, valueHash } from '../../signing/canonical-json.ts'
import { type Exchange, isSigned, signAnswer } from '../../signing/exchange.ts'
import { operationOf } from '../../signing/operations.ts'
import type { Signer } from '../../signing/proof.ts'
import type { KoaContext, Middleware } from '../request-state.ts'
import { type HandlerResponse, json, NO_STORE } from '../route.ts'
import { type BodyOptions, inSignedLine } from './bodies.ts'
import type { Verification } from './verify-signed.ts'

/** Who answers readers of the signed line. */
export type SignedLine = BodyOptions & Verification & { signer: Signer }

/**
 * Signs the answers to requests that `verifySigned` has verified, problems included, and records those of writes. Requests of the
 * plain line pass as they are. `null`: signed requests are refused.
 */
export function answerSigned(line: SignedLine | null): Middleware {
  return async (context, next) => {
    const { req, state } = context
    if (!isSigned(req.headers)) {
      await next()
      if (line !== null && state.response !== undefined) state.response = varying(state.response)
      return
    }
    const question = operationOf(req.method ?? '', pathOf(context))
    if (question === null) await next()
    else if (line === null) state.response = json({ detail: 'Registry authority unavailable' }, 503)
    else {
      state.question = question
      await next()
      if (state.signed !== undefined && state.response !== undefined) await signAnswered(context, line)
    }
  }
}

const pathOf = ({ path }: KoaContext): string => path.replace(/(?<=.)\/$/, '')

const VERSION_HEADER = 'X-Market-Signature-Version'

/** The same URL has an answer of each line. */
function varying(response: HandlerResponse): HandlerResponse {
  const { Vary = '' } = response.headers ?? {}
  const vary = Vary === '' ? VERSION_HEADER : `${Vary}, ${VERSION_HEADER}`
  return { ...response, headers: { ...response.headers, Vary: vary } }
}

async function signAnswered({ state }: KoaContext, line: SignedLine): Promise<void> {
  const { request, writer } = state.signed!
  const { response, value } = translated(state.response, request.exchange.operation, line)
  const { status = 200, body = '' } = response
  if (writer !== null && line.writes !== null && state.recorded === undefined)
    await endWrite(writer, { status, body: String(body) }, line.writes)
  state.response = signed(response, value, { exchange: request.exchange, line })
}

/** `value`: of its body, where that is known. */
type Translated = { response: HandlerResponse; value?: JsonObject }

/** In members of the signed line. */
function translated(response: HandlerResponse, operation: string, line: SignedLine): Translated {
  const { body, status = 200 } = response
  if (body === undefined) return { response }
  if (body instanceof Readable) {
    body.destroy()
    return { response: json({ detail: 'Signed answers are JSON' }, 406) }
  }
  const value = status === 200 ? parseJson(body.toString()) : null
  if (!isJsonObject(value)) return { response }
  const answer = inSignedLine(operation, value, line)
  const { listing } = answer
  if (listing === null) return { response: json({ detail: 'Listing not found' }, 404) }
  // These readers act on a listing without a look at how old its copy is.
  if (at(listing, '_meta', 'stale') === true)
    return { response: json({ detail: 'The Registry of this listing does not answer now' }, 503) }
  return { response: { ...response, body: formatJson(answer) }, value: answer }
}

/** An answer without a canonical form cannot be signed: an unsigned 500, as of the public implementation. */
function signed(
  response: HandlerResponse,
  value: JsonObject | undefined,
  { exchange, line: { signer, nowSeconds } }: { exchange: Exchange; line: SignedLine },
): HandlerResponse {
  const { status = 200, body = '', headers } = response
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(String(body))
  const { Vary: _vary, 'WWW-Authenticate': _scheme, ...others } = headers ?? {}
  try {
    const content = value === undefined ? bodyHash(bytes) : valueHash(value)
    const signature = signAnswer(signer, { status, content, timestamp: nowSeconds(), exchange })
    const sent = bytes.length === 0 ? {} : { body: bytes }
    return { status, ...sent, headers: { ...others, ...NO_STORE, ...signature } }
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause
    return json({ detail: `The answer cannot be signed: ${cause.message}` }, 500)
  }
}
