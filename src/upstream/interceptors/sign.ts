import { randomUUID } from 'node:crypto'
import type { Dispatcher } from 'undici'
import type { Clock } from '../../domain/clock.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import type { Pin } from '../../domain/source/upstream.ts'
import { parseObject } from '../../json/value.ts'
import {
  type AnswerFault,
  type Exchange,
  faultOf,
  type Identity,
  signRequest,
} from '../../signing/exchange.ts'
import { operationOf, queryBody } from '../../signing/operations.ts'
import { type Principal, readPublisher } from '../../signing/principal.ts'
import { type HttpResponse, type Interceptor, NOT_SENT, type UpstreamRequest } from '../http/request.ts'

type SignOptions = { identity: Identity; pin: Pin; url: string; clock: Pick<Clock, 'now'> }

/**
 * Signs each attempt as a question of its own, and lets no answer through that the Registry's key has not signed: it fails as
 * `bad_signature`. A path that the signed line lacks is 404 without a request. `/health` is not signed there.
 */
export function signRequests({ identity, pin, url, clock }: SignOptions): Interceptor {
  const base = new URL(url).pathname.replace(/\/+$/, '')
  return (dispatch) => (request, handler) => {
    const { upstream, method, headers } = request
    const [pathname = '', query = ''] = request.path.slice(base.length).split('?')
    if (pathname === '/health') return dispatch(request, handler)
    const operation = operationOf(method, pathname)
    if (operation === null || !ASKED.has(operation.operation)) return answerItself(request, handler)
    const signedQuery = inSignedLine(query)
    const exchange = { ...operation, method, requestId: randomUUID().replaceAll('-', '') }
    const signed = signRequest(identity.signer, {
      ...exchange,
      role: identity.role,
      timestamp: Math.floor(clock.now() / 1000),
      body: Buffer.from(queryBody(signedQuery, headers['if-match'])),
    })
    const read = (response: HttpResponse): void => {
      const words = describeFault(response, exchange, pin.keys, clock.now() / 1000)
      if (words !== null) throw new SourceError('bad_signature', `${upstream}: ${words}`)
      request.read(response)
    }
    const path = `${base}${pathname}${signedQuery === '' ? '' : `?${signedQuery}`}`
    return dispatch({ ...request, path, headers: { ...headers, ...signed }, read }, handler)
  }
}

/** Statistics are left out: several at once end the process of the public implementation. */
const ASKED = new Set(['listing.list', 'listing.get', 'publisher.list', 'filter.get'])

const NOT_FOUND: HttpResponse = { status: 404, headers: {}, body: Buffer.from('{"detail":"Not Found"}') }

function answerItself({ read }: UpstreamRequest, handler: Dispatcher.DispatchHandler): boolean {
  try {
    read(NOT_FOUND)
    handler.onResponseEnd?.(NOT_SENT, {})
  } catch (error) {
    handler.onResponseError?.(NOT_SENT, error as Error)
  }
  return true
}

/** Publishers have two parameters there: `publisher` of listings, and `identifier` of the directory. */
function inSignedLine(query: string): string {
  const pairs = [...new URLSearchParams(query)].flatMap(([name, value]) => {
    const prefix = PUBLISHER_PARAMETERS.get(name)
    const principal = prefix === undefined ? null : readPublisher(value)
    if (principal === null) return [[name, value]]
    return [
      [`${prefix}scheme`, principal.scheme],
      [`${prefix}identifier`, principal.identifier],
    ]
  })
  return new URLSearchParams(pairs).toString()
}

const PUBLISHER_PARAMETERS = new Map([
  ['publisher', 'publisher_'],
  ['identifier', ''],
])

/** `null` for a signed answer, and for a failure that is no answer: proxies and faults of the server cannot sign. */
function describeFault(
  response: HttpResponse,
  exchange: Exchange,
  keys: readonly Principal[],
  now: number,
): string | null {
  const { status, headers } = response
  const fault = faultOf(response, { exchange, keys, now })
  if (fault === null || (fault === 'unsupported_version' && (status >= 500 || status === 429))) return null
  const { detail } = parseObject(response.body.toString())
  const isSkewed = fault === 'timestamp_skew' || (status === 401 && detail === 'timestamp_skew')
  if (isSkewed) return describeSkew(headers.date, now)
  return `${WORDS[fault]}${status === 200 ? '' : ` (status ${status}${typeof detail === 'string' ? `: ${detail.slice(0, 200)}` : ''})`}`
}

const WORDS: Readonly<Record<AnswerFault, string>> = {
  unsupported_version: 'the answer is not signed',
  malformed_envelope: 'the signature of the answer cannot be read',
  wrong_principal: 'the answer is signed by a key that identities do not name',
  context_mismatch: 'the answer is to another request',
  timestamp_skew: 'the clocks differ',
  not_canonical: 'the signed answer is not JSON',
  invalid_proof: 'the signature does not fit the answer',
}

function describeSkew(date: string | undefined, now: number): string {
  const theirs = Date.parse(date ?? '') / 1000
  const seconds = Math.round(now - theirs)
  if (!Number.isFinite(seconds)) return 'the clocks differ by more than 5 min'
  return `our clock is ${Math.abs(seconds)} s ${seconds < 0 ? 'behind' : 'ahead of'} theirs; at most 300 s are allowed`
}
