import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { Teardown } from './registry.ts'
import { temporaryFile } from './run-cli.ts'
import {
  ANSWER_VERSION,
  bodyHashOf,
  type Envelope,
  ed25519Key,
  filledIn,
  framed,
  headersOf,
  isProof,
  isProofText,
  messageOf,
  type Party,
  partyOf,
  type Question,
  queryText,
  questionOf,
  REQUEST_VERSION,
} from './signed-line.ts'
import { createMarket, ETAG, FILTERS, type Result, refused, type SignedListing } from './signed-market.ts'

/** `[gateway.identity]` with a key of its own. */
export function identityToml(t: Teardown): string {
  const file = temporaryFile(t, 'gateway.key', Buffer.alloc(32, 7).toString('base64url'))
  return `[gateway.identity]\nscheme = "ed25519"\nkey_file = "${file}"\n`
}

/** What a Registry of the signed line does otherwise than a good one. */
export type Fault =
  | 'foreign key'
  | 'unsigned'
  | 'changed body'
  | 'changed status'
  | 'other request'
  | 'old'
  | 'unsigned 500'
  | 'unsigned 429'
  /** Of one write: it is applied, and its answer does not arrive. */
  | 'lost answer'
  /** Of one write: it goes on for longer than a second attempt takes. */
  | 'in progress'
  | null

const AUTHORITY_KEY = ed25519Key(Buffer.alloc(32, 1))
const FOREIGN_KEY = ed25519Key(Buffer.alloc(32, 2))

/** `identities` that pin these keys. */
const pinned = (...identifiers: string[]): string =>
  `identities = [${identifiers.map((one) => `{ scheme = "ed25519", identifier = "${one}" }`).join()}]\n`

/** The settings of such an upstream. */
export const signedSettings = (...identifiers: string[]): string =>
  `protocol = "signed"\nauthority = "registry-a"\n${pinned(...identifiers)}`

/** `[registry.authorities."URL"]` of the buyer file, for this Registry. */
export const pinToml = (url: string, identifier = AUTHORITY_KEY.party.identifier): string =>
  `[registry.authorities."${url}"]\nauthority = "registry-a"\n${pinned(identifier)}`

/**
 * A Registry of the signed line, written from the protocol and without the code under test. It checks each request in the order of
 * the public implementation, answers reads and writes, each signed, and remembers request ids. `state` may be changed while it runs.
 */
export async function startSignedRegistry(t: Teardown, items: readonly SignedListing[] = []) {
  const state = {
    fault: null as Fault,
    /** Pages with this listing are an unsigned 500. */
    poisoned: null as string | null,
    /** Method and target of each request. */
    seen: [] as string[],
    /** Who signed, as which role, of each request that was signed well. */
    callers: [] as { party: Party; role: string; requestId: string; operation: string }[],
    skewSeconds: 0,
  }
  const now = (): number => Math.floor(Date.now() / 1000) + state.skewSeconds
  const market = createMarket(now)
  market.seed(items)
  const recorded = new Map<string, { hash: string; result: Result | null }>()
  const server = createServer((request, response) => {
    state.seen.push(`${request.method} ${request.url}`)
    answer(request, response).catch((error) => response.destroy(error))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close().closeAllConnections())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const [identifier, foreign] = [AUTHORITY_KEY, FOREIGN_KEY].map(({ party }) => party.identifier)
  return { url, state, market, identifier: identifier!, foreign: foreign! }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: target = '/' } = request
    const body = await buffer(request)
    const { pathname, searchParams } = new URL(target, 'http://registry')
    const question = questionOf(method, pathname)
    const unsigned = openAnswer(method, pathname, question) ?? formFault(question, body, searchParams)
    if (unsigned !== null || question === null)
      return sendUnsigned(response, unsigned ?? refused(404, 'Not Found'))
    const verdict = await judge(request, question, body, searchParams)
    if ('status' in verdict) return sendUnsigned(response, verdict)
    const { envelope, hash } = verdict
    state.callers.push({
      party: envelope.party,
      role: envelope.role,
      requestId: envelope.requestId,
      operation: envelope.operation,
    })
    const result = answerOnce(envelope, hash, {
      gate: () => gateOf(request, question),
      act: () => route(request, question, envelope.party, body, searchParams),
    })
    const { fault } = state
    const isPoisoned = result.ids?.includes(state.poisoned ?? '') === true
    if (fault?.startsWith('unsigned ') || isPoisoned)
      return void response.writeHead(fault === 'unsigned 429' ? 429 : 500).end('Internal Server Error')
    if (fault === 'lost answer' && question.isWrite) {
      state.fault = null
      return void response.destroy()
    }
    await sendSigned(response, envelope, result)
  }

  /** What an id was used for comes before the gate, and the answer that it had after them. */
  function answerOnce(
    { party, requestId }: Envelope,
    hash: string,
    { gate, act }: { gate: () => Result | null; act: () => Result },
  ): Result {
    const id = `${party.scheme} ${party.identifier} ${requestId}`
    const earlier = recorded.get(id)
    if (earlier !== undefined && earlier.hash !== hash) return refused(409, 'changed_reuse')
    if (earlier?.result === null || state.fault === 'in progress') {
      // The first try ends meanwhile.
      if (earlier === undefined) recorded.set(id, { hash, result: null })
      else recorded.delete(id)
      state.fault = null
      return refused(409, 'request_in_progress')
    }
    const refusal = gate()
    const result = refusal ?? earlier?.result ?? act()
    if (earlier === undefined && result.status < 500) recorded.set(id, { hash, result })
    return result
  }

  async function judge(
    { method = '', headers }: IncomingMessage,
    { operation, resource, isWrite }: Question,
    body: Buffer,
    query: URLSearchParams,
  ): Promise<Result | { envelope: Envelope; hash: string }> {
    const read = (name: string): string => String(headers[`x-market-${name}`] ?? '')
    const text = operation === 'listing.validate' ? filledIn(body.toString()) : body.toString()
    const hash = bodyHashOf(BARE.has(operation) ? '' : isWrite ? text : queryText(query, headers['if-match']))
    if (hash === null) return refused(400, 'Body is not canonical JSON')
    const role = read('role')
    if (!['buyer', 'seller', 'service'].includes(role)) return refused(401, 'context_mismatch')
    const party = partyOf(read('identity-scheme'), read('identity-identifier'))
    if (party === null) return refused(401, 'malformed_envelope')
    if (read('signature-version') !== REQUEST_VERSION) return refused(401, 'unsupported_version')
    const [requestId, timestamp, proof] = [read('request-id'), readTime(read('timestamp')), read('signature')]
    const isFormed = /^[A-Za-z0-9][\w.:-]{0,127}$/.test(requestId) && isProofText(party.scheme, proof)
    if (!isFormed || timestamp === null || [...resource].length > 1024 || resource.includes('\0'))
      return refused(401, 'malformed_envelope')
    if (Math.abs(now() - Number(timestamp)) > 300) return refused(401, 'timestamp_skew')
    const envelope = { role, party, method, operation, resource, requestId, timestamp }
    if (!(await isProof(party, messageOf(REQUEST_VERSION, envelope, [hash]), proof)))
      return refused(401, 'invalid_proof')
    const { scheme, identifier } = party
    const replay = [REQUEST_VERSION, scheme, identifier, role, method, operation, resource, hash]
    return { envelope, hash: framed(replay).toString('hex') }
  }

  function gateOf({ headers }: IncomingMessage, { operation, isWrite }: Question): Result | null {
    const isOpen = !isWrite || operation === 'listing.validate'
    return isOpen || headers['x-market-role'] === 'seller' ? null : refused(403, 'role_not_authorized')
  }

  function route(
    { headers }: IncomingMessage,
    { operation, resource }: Question,
    party: Party,
    body: Buffer,
    query: URLSearchParams,
  ): Result {
    const object = () => JSON.parse(body.toString())
    const etag = (JSON.parse(queryText(query, headers['if-match'])) as { if_match?: string }).if_match
    switch (operation) {
      case 'listing.publish':
        return market.publish(party, object())
      case 'listing.update':
        return market.update(party, resource, object())
      case 'listing.delete':
        return market.remove(party, resource)
      case 'listing.list':
        return market.page(query, etag)
      case 'listing.get':
        return market.single(resource)
      case 'publisher.list':
        return market.directory(query)
      case 'publisher.get':
        return market.publisher(Number(resource))
      case 'filter.get':
        return { status: 200, body: { version: 1, etag: ETAG, listing_shape: {}, filters: FILTERS } }
      case 'health.read':
        return { status: 200, body: { status: 'healthy' } }
      case 'system.stats.read':
        return market.stats()
      case 'listing.validate':
        return { status: 200, body: verdictOn(object()) }
      default:
        throw new Error(`${operation} is not answered here`)
    }
  }

  function sendUnsigned(response: ServerResponse, { status, body }: Result): void {
    response.writeHead(status, {
      'content-type': 'application/json',
      date: new Date(now() * 1000).toUTCString(),
    })
    response.end(JSON.stringify(body))
  }

  async function sendSigned(
    response: ServerResponse,
    asked: Envelope,
    { status, body }: Result,
  ): Promise<void> {
    const { fault } = state
    const key = fault === 'foreign key' ? FOREIGN_KEY : AUTHORITY_KEY
    const envelope = {
      ...asked,
      role: 'registry',
      party: key.party,
      requestId: fault === 'other request' ? 'other' : asked.requestId,
      timestamp: String(now() - (fault === 'old' ? 301 : 0)),
    }
    const text = body === null ? '' : JSON.stringify(body)
    const message = messageOf(ANSWER_VERSION, envelope, [String(status), bodyHashOf(text) ?? ''])
    response.writeHead(fault === 'changed status' ? status + 1 : status, {
      ...(text !== '' && { 'content-type': 'application/json' }),
      ...(fault !== 'unsigned' && headersOf(ANSWER_VERSION, envelope, await key.sign(message))),
    })
    response.end(fault === 'changed body' ? text.replace('{', '{"added":1,') : text)
  }
}

/** Without a signature. `null` for what needs one. */
function openAnswer(method: string, path: string, question: Question | null): Result | null {
  if (method === 'GET' && path === '/health') return { status: 200, body: { status: 'ok' } }
  if (method === 'GET' && path === '/openapi.json')
    return { status: 200, body: { info: { version: '0.2.0' } } }
  if (question !== null) return null
  if (method === 'GET' && /^\/publishers\/[^/]+$/.test(path))
    return refused(422, [{ type: 'int_parsing', loc: ['path', 'publisher_id'] }])
  const isKnown = ['GET', 'POST', 'PUT', 'DELETE'].some((other) => questionOf(other, path) !== null)
  return isKnown ? refused(405, 'Method Not Allowed') : refused(404, 'Not Found')
}

/** Before any authentication. */
function formFault(question: Question | null, body: Buffer, query: URLSearchParams): Result | null {
  const { operation = '', isWrite = false } = question ?? {}
  const hasBody = isWrite && !BARE.has(operation)
  const limit = query.get('limit')
  if (operation === 'listing.list' && limit !== null && !/^\d+$/.test(limit))
    return refused(422, [{ type: 'int_parsing', loc: ['query', 'limit'] }])
  try {
    if (hasBody) JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch (error) {
    return error instanceof SyntaxError
      ? refused(422, [{ type: 'json_invalid', loc: ['body'] }])
      : refused(400, 'There was an error parsing the body')
  }
  return null
}

/** Their bodies are ignored, unsigned. */
const BARE = new Set(['listing.delete', 'publisher.identity.retire'])

/** As Python reads an integer. */
function readTime(text: string): string | null {
  const number = text.replace(/^\xa0/, '')
  if (!/^\+?\d+(_\d+)*$/.test(number)) return null
  const value = BigInt(number.replace(/[+_]/g, ''))
  return value < 2n ** 63n ? String(value) : null
}

function verdictOn({ listing_id, offer_resource, settlement_options = [] }: Record<string, never[]>): object {
  const isValid = typeof listing_id === 'string' && Object.keys(offer_resource ?? {}).length > 0
  const errors = isValid ? [] : ['offer_resource: is empty']
  return { valid: isValid, errors, settlement_options_count: settlement_options.length }
}
