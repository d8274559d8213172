import { endWrite } from '../../registry/write/signed-write.ts'
import { bodyHash } from '../../signing/canonical-json.ts'
import { type Exchange, isSigned, signAnswer } from '../../signing/exchange.ts'
import { operationOf } from '../../signing/operations.ts'
import type { Signer } from '../../signing/proof.ts'
import type { KoaContext, Middleware } from '../request-state.ts'
import { type HandlerResponse, json, NO_STORE } from '../route.ts'
import type { BodyOptions } from './bodies.ts'
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
  const { status = 200, body = '' } = state.response
  if (writer !== null && line.writes !== null && state.recorded === undefined)
    await endWrite(writer, { status, body: String(body) }, line.writes)
  state.response = signed(state.response, request.exchange, line)
}

/** An answer without a canonical form cannot be signed: an unsigned 500, as of the public implementation. */
function signed(
  response: HandlerResponse,
  exchange: Exchange,
  { signer, nowSeconds }: SignedLine,
): HandlerResponse {
  const { status = 200, body = '', headers } = response
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(String(body))
  try {
    const { content = bodyHash(bytes) } = response
    const signature = signAnswer(signer, { status, content, timestamp: nowSeconds(), exchange })
    const sent = bytes.length === 0 ? {} : { body: bytes }
    return { status, ...sent, headers: { ...ofSignedLine(headers), ...NO_STORE, ...signature } }
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause
    return json({ detail: `The answer cannot be signed: ${cause.message}` }, 500)
  }
}

/** Signed readers send no scheme of authentication, and no cache keeps their answers. */
function ofSignedLine(headers: HandlerResponse['headers']): HandlerResponse['headers'] {
  if (headers?.Vary === undefined && headers?.['WWW-Authenticate'] === undefined) return headers
  const { Vary: _vary, 'WWW-Authenticate': _scheme, ...others } = headers
  return others
}
