import { randomUUID } from 'node:crypto'
import type { Dispatcher } from 'undici'
import type { Clock } from '../../domain/clock.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import type { Pin } from '../../domain/source/upstream.ts'
import { type Identity, signRequest } from '../../signing/exchange.ts'
import { describeFault, toQuestion } from '../../signing/question.ts'
import { type HttpResponse, type Interceptor, NOT_SENT, type UpstreamRequest } from '../http/request.ts'

type SignOptions = { identity: Identity; pin: Pin; url: string; clock: Pick<Clock, 'now'> }

/**
 * Signs each attempt as a question of its own, unless the request names its id, and lets no answer through that the Registry's key has
 * not signed: it fails as `bad_signature`. A path that the signed line lacks is 404 without a request. `/health` is not signed there.
 */
export function signRequests({ identity, pin, url, clock }: SignOptions): Interceptor {
  const base = new URL(url).pathname.replace(/\/+$/, '')
  return (dispatch) => (request, handler) => {
    const { upstream, method, headers, body } = request
    const target = request.path.slice(base.length)
    if (target === '/health') return dispatch(request, handler)
    const question = toQuestion({ method, target, ifMatch: headers['if-match'], body: textOf(body) })
    if (question === null) return answerItself(request, handler)
    const { operation, resource } = question
    const { requestId = randomUUID().replaceAll('-', '') } = request
    const exchange = { method, operation, resource, requestId }
    const timestamp = Math.floor(clock.now() / 1000)
    const { role } = identity
    const signed = signRequest(identity.signer, { ...exchange, role, timestamp, body: question.body })
    const read = (response: HttpResponse): void => {
      const words = describeFault(response, { exchange, keys: pin.keys, now: clock.now() / 1000 })
      if (words !== null) throw new SourceError('bad_signature', `${upstream}: ${words}`)
      request.read(response)
    }
    const path = `${base}${question.target}`
    return dispatch({ ...request, path, headers: { ...headers, ...signed }, read }, handler)
  }
}

const textOf = (body: UpstreamRequest['body']): string | Uint8Array | null =>
  typeof body === 'string' || body instanceof Uint8Array ? body : null

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
