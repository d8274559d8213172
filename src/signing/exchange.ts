import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { bodyHash } from './canonical-json.ts'
import { frame } from './frame.ts'
import type { Operation } from './operations.ts'
import { isSamePrincipal, type Principal, readPrincipal } from './principal.ts'
import { isProof, isProofText, type Signer } from './proof.ts'

const REQUEST_VERSION = 'arkhai.market-request-signature.v2'
export const ANSWER_VERSION = 'arkhai.market-response-signature.v2'
/** A timestamp may be this far from the reader's clock. */
const MAX_SKEW_SECONDS = 300

export type Role = 'buyer' | 'seller' | 'service'

/** The key and role that sign a request to a Registry of the signed line. */
export type Identity = { signer: Signer; role: Role }

/** A question and its answer have it in common. */
export type Exchange = Operation & { method: string; requestId: string }

/** `body`: as JSON; empty for none. */
type RequestDraft = Exchange & { role: Role; timestamp: number; body: Buffer }

/** The seven headers of a request. @throws SyntaxError for a body without canonical form */
export function signRequest({ principal, sign }: Signer, draft: RequestDraft): Record<string, string> {
  const { headers, message } = draftRequest(principal, draft)
  return { ...headers, 'x-market-signature': sign(message) }
}

/** Six of the headers, and what the seventh signs. @throws SyntaxError as above */
export function draftRequest(
  principal: Principal,
  { role, timestamp, body, ...exchange }: RequestDraft,
): { headers: Record<string, string>; message: Buffer } {
  const about = { version: REQUEST_VERSION, role, principal, exchange, timestamp: String(timestamp) }
  return { headers: headersOf(about), message: messageOf(about, [bodyHash(body)]) }
}

/** The seven headers of an answer to that exchange. @param content the `bodyHash` of its body */
export function signAnswer(
  { principal, sign }: Signer,
  {
    status,
    content,
    timestamp,
    exchange,
  }: { status: number; content: string; timestamp: number; exchange: Exchange },
): Record<string, string> {
  const about = {
    version: ANSWER_VERSION,
    role: 'registry',
    principal,
    exchange,
    timestamp: String(timestamp),
  }
  const message = messageOf(about, [String(status), content])
  return { ...headersOf(about), 'x-market-signature': sign(message) }
}

/** What each of the seven headers says, but the signature. */
type About = { version: string; role: string; principal: Principal; exchange: Exchange; timestamp: string }

const headersOf = ({ version, role, principal, exchange, timestamp }: About): Record<string, string> => ({
  'x-market-signature-version': version,
  'x-market-identity-scheme': principal.scheme,
  'x-market-identity-identifier': principal.identifier,
  'x-market-role': role,
  'x-market-request-id': exchange.requestId,
  'x-market-timestamp': timestamp,
})

function messageOf(
  { version, role, principal, exchange, timestamp }: About,
  rest: readonly string[],
): Buffer {
  const { method, operation, resource, requestId } = exchange
  const { scheme, identifier } = principal
  return frame([
    version,
    role,
    scheme,
    identifier,
    method,
    operation,
    resource,
    requestId,
    timestamp,
    ...rest,
  ])
}

const SIGNED_HEADERS = [
  'signature-version',
  'identity-scheme',
  'identity-identifier',
  'role',
  'request-id',
  'timestamp',
  'signature',
].map((name) => `x-market-${name}`)

/** Whether a request is of the signed line: one of the seven headers is enough. */
export const isSigned = (headers: IncomingHttpHeaders): boolean =>
  SIGNED_HEADERS.some((name) => headers[name] !== undefined)

const ROLES: readonly string[] = ['buyer', 'seller', 'service'] satisfies Role[]
const REQUEST_ID = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$/
const MAX_TIMESTAMP = 2n ** 63n - 1n
const MAX_RESOURCE = 1024

type RequestFault = Exclude<AnswerFault, 'wrong_principal' | 'not_canonical'>
/** `timestamp` is in Unix seconds. */
export type SignedRequest = {
  principal: Principal
  role: Role
  exchange: Exchange
  timestamp: number
  /** The `bodyHash` of its body. */
  content: string
}

/**
 * Who has signed a request. Checks in the order of the public implementation, whose words the faults are.
 * @param question as its path and body say; `content` is the `bodyHash` of its body. @param now Unix seconds
 */
export function readRequest(
  headers: IncomingHttpHeaders,
  { method, operation, resource, content }: Operation & { method: string; content: string },
  now: number,
): { fault: RequestFault } | SignedRequest {
  const read = (name: string): string => headers[`x-market-${name}`]?.toString() ?? ''
  const role = read('role')
  if (!ROLES.includes(role)) return { fault: 'context_mismatch' }
  const principal = readPrincipal(read('identity-scheme'), read('identity-identifier'))
  if (principal === null) return { fault: 'malformed_envelope' }
  if (read('signature-version') !== REQUEST_VERSION) return { fault: 'unsupported_version' }
  const requestId = read('request-id')
  const timestamp = readTimestamp(read('timestamp'))
  const isFormed = REQUEST_ID.test(requestId) && timestamp !== null && isResource(resource)
  if (!isFormed || !isProofText(principal.scheme, read('signature'))) return { fault: 'malformed_envelope' }
  if (Math.abs(now - Number(timestamp)) > MAX_SKEW_SECONDS) return { fault: 'timestamp_skew' }
  const exchange = { method, operation, resource, requestId }
  const about = { version: REQUEST_VERSION, role, principal, exchange, timestamp }
  const message = messageOf(about, [content])
  return isProof(principal, message, read('signature'))
    ? { principal, role: role as Role, exchange, timestamp: Number(timestamp), content }
    : { fault: 'invalid_proof' }
}

const isResource = (resource: string): boolean =>
  !resource.includes('\0') && (resource.length <= MAX_RESOURCE || [...resource].length <= MAX_RESOURCE)

/** As Python reads an integer: `+5`, `005` and `1_000` are numbers, and no-break spaces around one are dropped. */
function readTimestamp(text: string): string | null {
  const number = text.replace(/^\xa0+|\xa0+$/g, '')
  if (!/^\+?\d+(?:_\d+)*$/.test(number)) return null
  const value = BigInt(number.replace(/[+_]/g, ''))
  return value > MAX_TIMESTAMP ? null : String(value)
}

/** Equal for the same request, whatever its id and time. */
export const replayHash = ({ principal, role, exchange, content }: SignedRequest): string =>
  hash(
    'sha256',
    frame([
      REQUEST_VERSION,
      principal.scheme,
      principal.identifier,
      role,
      exchange.method,
      exchange.operation,
      exchange.resource,
      content,
    ]),
  )

export type SignedAnswer = { status: number; headers: IncomingHttpHeaders; body: Buffer }

/** Why an answer is not that of the Registry, in the words of the signed line. */
export type AnswerFault =
  | 'unsupported_version'
  | 'malformed_envelope'
  | 'wrong_principal'
  | 'context_mismatch'
  | 'timestamp_skew'
  | 'not_canonical'
  | 'invalid_proof'

/**
 * Checks that a Registry with one of these keys has answered this question so. `null` where it has.
 * @param now Unix seconds
 */
export function faultOf(
  { status, headers, body }: SignedAnswer,
  { exchange, keys, now }: { exchange: Exchange; keys: readonly Principal[]; now: number },
): AnswerFault | null {
  const read = (name: string): string => headers[`x-market-${name}`]?.toString() ?? ''
  if (read('signature-version') !== ANSWER_VERSION) return 'unsupported_version'
  const principal = readPrincipal(read('identity-scheme'), read('identity-identifier'))
  const timestamp = read('timestamp')
  if (principal === null || !/^\d{1,15}$/.test(timestamp)) return 'malformed_envelope'
  if (!keys.some((key) => isSamePrincipal(key, principal))) return 'wrong_principal'
  if (read('role') !== 'registry' || read('request-id') !== exchange.requestId) return 'context_mismatch'
  if (Math.abs(now - Number(timestamp)) > MAX_SKEW_SECONDS) return 'timestamp_skew'
  const content = hashOrNull(body)
  if (content === null) return 'not_canonical'
  const message = messageOf({ version: ANSWER_VERSION, role: 'registry', principal, exchange, timestamp }, [
    String(status),
    content,
  ])
  return isProof(principal, message, read('signature')) ? null : 'invalid_proof'
}

function hashOrNull(body: Buffer): string | null {
  try {
    return bodyHash(body)
  } catch {
    return null
  }
}
