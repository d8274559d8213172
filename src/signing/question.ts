import { parseObject } from '../json/value.ts'
import { type AnswerFault, type Exchange, faultOf, type SignedAnswer } from './exchange.ts'
import { type Operation, operationOf, queryBody } from './operations.ts'
import { type Principal, readPublisher } from './principal.ts'

/** A request as a Registry of the signed line takes it. */
type Question = Operation & {
  /** Path and query. */
  target: string
  /** What is signed as its body. */
  body: Buffer
}

type PlainRequest = {
  method: string
  /** Path below the base URL, and query, in the parameters of the plain line. */
  target: string
  ifMatch?: string | undefined
  body?: Uint8Array | string | null | undefined
}

/** `null` for a path that the signed line lacks. */
export function toQuestion({ method, target, ifMatch, body }: PlainRequest): Question | null {
  const [pathname = '', query = ''] = target.split('?')
  const operation = operationOf(method, pathname)
  if (operation === null || !PUBLIC.has(operation.operation)) return null
  if (method !== 'GET') return { ...operation, target: pathname, body: Buffer.from(body ?? '') }
  const signed = inSignedLine(query)
  return {
    ...operation,
    target: signed === '' ? pathname : `${pathname}?${signed}`,
    body: Buffer.from(queryBody(signed, ifMatch)),
  }
}

/** Of the public implementation. Statistics are left out: several requests at once end its process. */
const PUBLIC = new Set([
  'listing.list',
  'listing.get',
  'publisher.list',
  'filter.get',
  'listing.publish',
  'listing.update',
  'listing.delete',
  'listing.validate',
])

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

/** What a Registry does that refuses a request since it is not signed. */
export const ANSWERS_SIGNED = 'answers signed requests only'

/** Whether that is why it refuses: a wrong API key has other words. */
export const refusesUnsigned = ({ status, body }: { status: number; body: Uint8Array }): boolean =>
  status === 401 && Buffer.from(body).includes('context_mismatch')

/** `null` for a signed answer, and for a failure that is no answer: proxies and faults of the server cannot sign. */
export function describeFault(
  answer: SignedAnswer,
  { exchange, keys, now }: { exchange: Exchange; keys: readonly Principal[]; now: number },
): string | null {
  const { status, headers } = answer
  const fault = faultOf(answer, { exchange, keys, now })
  if (fault === null || (fault === 'unsupported_version' && (status >= 500 || status === 429))) return null
  const { detail } = parseObject(answer.body.toString())
  const isSkewed = fault === 'timestamp_skew' || (status === 401 && detail === 'timestamp_skew')
  if (isSkewed) return describeSkew(headers.date, now)
  const words = typeof detail === 'string' ? `: ${detail.slice(0, 200)}` : ''
  return `${WORDS[fault]}${status === 200 ? '' : ` (status ${status}${words})`}`
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
