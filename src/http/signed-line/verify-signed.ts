import type { IncomingMessage } from 'node:http'
import { LRUCache } from 'lru-cache'
import { EntrepotError } from '../../errors.ts'
import { formatJson } from '../../json/value.ts'
import { beginWrite, conflict, type WriteRecords } from '../../registry/write/signed-write.ts'
import { validatedForm } from '../../registry/write/validate.ts'
import { bodyHash } from '../../signing/canonical-json.ts'
import { readRequest, replayHash, type SignedRequest } from '../../signing/exchange.ts'
import { queryHash } from '../../signing/operations.ts'
import { publisherOf } from '../../signing/principal.ts'
import { readIntegerParameter } from '../parameters.ts'
import { firstLineOf, type KoaContext, type Middleware } from '../request-state.ts'
import { type Gate, type HandlerResponse, type IntegerParameter, json, type Route } from '../route.ts'
import { notCanonical, readSignedBody } from './signed-body.ts'

export type Verification = {
  /** Unix seconds. */
  nowSeconds: () => number
  /** Counts before any proof is checked. Rejects over the limit; `null` if nothing is counted. */
  limitUnverified: (request: IncomingMessage, gate: Gate) => Promise<unknown> | null
  /** Of the writes; `null` for a pure gateway. */
  writes: WriteRecords | null
  /** `false`: the plain line is closed, but for probes and the operator. */
  isPlainOpen: boolean
}

/** Verifies requests of the signed line, in the order of the public implementation: docs/protocol.md#12-the-signed-line. */
export function verifySigned(options: Verification | null): Middleware {
  const isReused = rememberRequests()
  return async (context, next) => {
    const { state, req } = context
    const { question, route } = state
    if (options === null) return next()
    if (question === undefined) {
      if (!options.isPlainOpen && isClosed(route)) state.response = json({ detail: 'context_mismatch' }, 401)
      else await next()
      return
    }
    const counted = options.limitUnverified(req, route.gate)
    if (counted !== null) await counted
    requireIntegers(context)
    const { method } = context
    const content =
      method === 'GET'
        ? queryHash(context.querystring, firstLineOf(req, 'if-match'))
        : await contentOf(context, question.operation)
    const request = readRequest(req.headers, { method, ...question, content }, options.nowSeconds())
    if ('fault' in request) {
      state.response = json({ detail: request.fault }, 401)
      return
    }
    state.signed = { request, writer: null }
    const isOther = isReused(request)
    if (isOther) throw conflict('changed_reuse')
    if (recordsOf(route, options) !== null && request.role !== 'seller')
      throw new EntrepotError('forbidden', 'role_not_authorized')
    await next()
  }
}

/** Reserves the request id of a write that has passed its gate: a refused one leaves nothing in the store. */
export function beginSignedWrite(options: Verification | null): Middleware {
  return ({ state }, next) => {
    const request = state.signed?.request
    const writes = request && recordsOf(state.route, options)
    if (!request || !writes) return next()
    return beginWrite(request, writes).then(({ writer, recorded }) => {
      state.signed = { request, writer }
      if (recorded !== null) state.recorded = recorded
      return next()
    })
  }
}

/** Where a write is recorded; `null` for a read, and at a pure gateway. */
const recordsOf = ({ gate }: Route, options: Verification | null): WriteRecords | null =>
  gate === 'write' ? (options?.writes ?? null) : null

/** Gives the recorded answer of a write that was made before. */
export function answerRecorded(): Middleware {
  return ({ state }, next) => {
    if (state.recorded === undefined) return next()
    const { status, body } = state.recorded
    state.response = recordedResponse(status, body)
    return Promise.resolve()
  }
}

const recordedResponse = (status: number, body: string): HandlerResponse =>
  body === '' ? { status } : { status, body }

/** What data has gates, and what shows it; the operator's pages have none. */
const isClosed = ({ gate, path }: Route): boolean =>
  gate === 'read' || gate === 'write' || (gate === 'none' && !OPEN.has(path))

const OPEN: ReadonlySet<string> = new Set(['/live', '/ready', '/health', '/admin', '/assets/*file'])

/** @throws EntrepotError `invalid` for a parameter that is no integer, before anything is verified */
function requireIntegers(context: KoaContext): void {
  for (const parameter of context.state.route.parameters ?? []) {
    if (!isInteger(parameter) || (parameter.in === 'query' && context.querystring === '')) continue
    const value = (parameter.in === 'path' ? context.params : context.query)[parameter.name]
    readIntegerParameter(parameter, Array.isArray(value) ? value.at(-1) : value)
  }
}

const isInteger = (parameter: NonNullable<Route['parameters']>[number]): parameter is IntegerParameter =>
  parameter.in !== 'header' && parameter.schema.type === 'integer'

const NO_BODY = bodyHash(Buffer.alloc(0))
/** The bodies of others are ignored. */
const HAVE_BODIES: ReadonlySet<string> = new Set([
  'listing.publish',
  'listing.update',
  'listing.validate',
  'publisher.identity.rotate',
])

/** The hash of the body that a write signs. Sets that of the handler. @throws EntrepotError for one that has no canonical form */
async function contentOf(context: KoaContext, operation: string): Promise<string> {
  const { state } = context
  state.body = null
  if (!HAVE_BODIES.has(operation)) return NO_BODY
  const body = await readSignedBody(context)
  state.body = body
  const signed =
    operation === 'listing.validate' ? Buffer.from(formatJson(validatedForm(body.value))) : body.bytes
  try {
    return bodyHash(signed)
  } catch {
    throw notCanonical()
  }
}

/** Request ids of the latest requests, and how long: a request is good for ±300 s. */
const MAX_REMEMBERED = 100_000
const REMEMBERED_MS = 600_000

/** Whether the id of a request was another one's. A question that is asked again is answered again. */
function rememberRequests(): (request: SignedRequest) => boolean {
  // Made for the first one, since it takes the memory of all of them at once.
  let asked: LRUCache<string, string> | undefined
  return (request) => {
    asked ??= new LRUCache({ max: MAX_REMEMBERED, ttl: REMEMBERED_MS })
    const id = `${publisherOf(request.principal)} ${request.exchange.requestId}`
    const hash = replayHash(request)
    const earlier = asked.get(id)
    if (earlier === undefined) asked.set(id, hash)
    return earlier !== undefined && earlier !== hash
  }
}
