import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { LRUCache } from 'lru-cache'
import { at, formatJson, isJsonObject, parseJson } from '../../json/value.ts'
import {
  type Exchange,
  isSigned,
  readRequest,
  replayHash,
  type SignedRequest,
  signAnswer,
} from '../../signing/exchange.ts'
import { type Operation, operationOf, queryBody } from '../../signing/operations.ts'
import { publisherOf, readPrincipal } from '../../signing/principal.ts'
import type { Signer } from '../../signing/proof.ts'
import type { KoaContext, Middleware } from '../request-state.ts'
import { type HandlerResponse, json, NO_STORE } from '../route.ts'
import { type BodyOptions, inSignedLine } from './bodies.ts'

/** Who answers readers of the signed line, and how their etags are those of the plain line. */
export type SignedLine = BodyOptions & {
  signer: Signer
  /** `etagOf` backwards; `null` for an etag that is not of the signed line. */
  plainEtagOf: (etag: string) => string | null
  /** Unix seconds. */
  nowSeconds: () => number
}

/**
 * Answers requests of the signed line: verifies them, hands the same question on as one of the plain line, and signs the answer,
 * problems included. Requests of the plain line pass as they are. `null`: signed requests are refused.
 */
export function answerSigned(line: SignedLine | null): Middleware {
  const isReused = rememberRequests()
  return async (context, next) => {
    const { req, state } = context
    if (!isSigned(req.headers)) {
      await next()
      if (line !== null && state.response !== undefined) state.response = varying(state.response)
      return
    }
    const operation = operationOf(req.method ?? '', pathOf(context))
    if (line === null) state.response = json({ detail: 'Registry authority unavailable' }, 503)
    else if (!READS.has(req.method ?? ''))
      state.response = json({ detail: 'Signed writes are not answered here' }, 501)
    else if (operation === null || req.method !== 'GET') await next()
    else {
      const body = Buffer.from(queryBody(context.querystring, req.headersDistinct['if-match']?.[0]))
      const request = readRequest(req.headers, { method: 'GET', ...operation, body }, line.nowSeconds())
      if ('fault' in request) {
        state.response = json({ detail: request.fault }, 401)
        return
      }
      const response = isReused(request, body)
        ? json({ detail: 'changed_reuse' }, 409)
        : await answerPlain(context, next, { operation, line })
      state.response = signed(response, request.exchange, line)
    }
  }
}

const READS = new Set(['GET', 'HEAD', 'OPTIONS'])

const pathOf = ({ path }: KoaContext): string => path.replace(/(?<=.)\/$/, '')

/** Request ids of the latest questions, and how long: a request is good for ±300 s. */
const MAX_REMEMBERED = 100_000
const REMEMBERED_MS = 600_000

/** Whether the id of a request was another question's. A question that is asked again is answered again. */
function rememberRequests(): (request: SignedRequest, body: Buffer) => boolean {
  const asked = new LRUCache<string, string>({ max: MAX_REMEMBERED, ttl: REMEMBERED_MS })
  return (request, body) => {
    const id = `${publisherOf(request.principal)} ${request.exchange.requestId}`
    const hash = replayHash(request, body)
    const earlier = asked.get(id)
    if (earlier === undefined) asked.set(id, hash)
    return earlier !== undefined && earlier !== hash
  }
}

const VERSION_HEADER = 'X-Market-Signature-Version'

/** The same URL has an answer of each line. */
function varying(response: HandlerResponse): HandlerResponse {
  const { Vary = '' } = response.headers ?? {}
  const vary = Vary === '' ? VERSION_HEADER : `${Vary}, ${VERSION_HEADER}`
  return { ...response, headers: { ...response.headers, Vary: vary } }
}

/** Asks the plain line, and gives its answer in members of the signed one. */
async function answerPlain(
  context: KoaContext,
  next: () => Promise<unknown>,
  { operation: { operation }, line }: { operation: Operation; line: SignedLine },
): Promise<HandlerResponse> {
  const { state } = context
  const problem = toPlainQuestion(context, line)
  if (problem !== null) return json({ detail: problem }, 400)
  await next()
  const { response } = state
  const { body, status = 200 } = response
  if (body === undefined) return response
  if (body instanceof Readable) {
    body.destroy()
    return json({ detail: 'Signed answers are JSON' }, 406)
  }
  const value = TRANSLATED.has(status) ? parseJson(body.toString()) : null
  if (!isJsonObject(value)) return response
  const translated = inSignedLine(operation, value, line)
  const { listing, etag } = translated
  if (listing === null) return json({ detail: 'Listing not found' }, 404)
  // These readers act on a listing without a look at how old its copy is.
  if (at(listing, '_meta', 'stale') === true)
    return json({ detail: 'The Registry of this listing does not answer now' }, 503)
  const headers = { ...response.headers, ...(typeof etag === 'string' && { ETag: `"${etag}"` }) }
  return { ...response, headers, body: formatJson(translated) }
}

/** Answers, and the refusal of an etag, which names the current one. */
const TRANSLATED = new Set([200, 412])

/** Puts the question in parameters and headers of the plain line. Gives what is wrong with it, in the words of the signed one. */
function toPlainQuestion(context: KoaContext, { plainEtagOf }: SignedLine): string | null {
  const { req } = context
  const ifMatch = req.headers['if-match']
  if (ifMatch !== undefined) setHeader(req, 'if-match', plainEtagOf(ifMatch.replaceAll('"', '')) ?? ifMatch)
  // The whole body is signed, as JSON, and none stands for one that the reader has.
  for (const name of ['accept', 'accept-encoding', 'if-none-match']) setHeader(req, name, undefined)
  const path = pathOf(context)
  if (path === SIGNED_HEALTH) context.path = '/health'
  const prefix = PUBLISHER_PREFIXES.get(path)
  return prefix === undefined ? null : toPlainPublisher(context, path, prefix)
}

const SIGNED_HEALTH = '/api/v1/system/health'

/** Before the two parameters that name a publisher. */
const PUBLISHER_PREFIXES = new Map([
  ['/listings', 'publisher_'],
  ['/publishers', ''],
])

function toPlainPublisher(context: KoaContext, path: string, prefix: string): string | null {
  const query = new URLSearchParams(context.querystring)
  if (path === '/listings' && query.has('publisher')) return "unknown filter: 'publisher'"
  const names = [`${prefix}scheme`, `${prefix}identifier`]
  const [scheme, identifier] = names.map((name) => query.get(name))
  if (scheme === null && identifier === null) return null
  if (scheme === null || identifier === null) return `${names.join(' and ')} are required together`
  const principal = readPrincipal(scheme, identifier)
  if (principal === null) return 'Invalid publisher principal'
  if (path === '/publishers') query.set('identifier', principal.identifier)
  else {
    for (const name of names) query.delete(name)
    query.set('publisher', publisherOf(principal))
  }
  context.querystring = query.toString()
  return null
}

/** Node gives headers in two ways. */
function setHeader(
  { headers, headersDistinct }: IncomingMessage,
  name: string,
  value: string | undefined,
): void {
  if (value === undefined) {
    delete headers[name]
    delete headersDistinct[name]
  } else {
    headers[name] = value
    headersDistinct[name] = [value]
  }
}

/** An answer without a canonical form cannot be signed: an unsigned 500, as of the public implementation. */
function signed(
  response: HandlerResponse,
  exchange: Exchange,
  { signer, nowSeconds }: SignedLine,
): HandlerResponse {
  const { status = 200, body = '', headers } = response
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(String(body))
  const { Vary: _vary, ...others } = headers ?? {}
  try {
    const signature = signAnswer(signer, { status, body: bytes, timestamp: nowSeconds(), exchange })
    return { status, body: bytes, headers: { ...others, ...NO_STORE, ...signature } }
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause
    return json({ detail: `The answer cannot be signed: ${cause.message}` }, 500)
  }
}
