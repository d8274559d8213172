import type { IncomingHttpHeaders } from 'node:http'
import { bodyHash } from './canonical-json.ts'
import { frame } from './frame.ts'
import type { Operation } from './operations.ts'
import { isSamePrincipal, type Principal, readPrincipal } from './principal.ts'
import { isProof, type Signer } from './proof.ts'

const REQUEST_VERSION = 'arkhai.market-request-signature.v2'
export const ANSWER_VERSION = 'arkhai.market-response-signature.v2'
/** A timestamp may be this far from the reader's clock. */
const MAX_SKEW_SECONDS = 300

export type Role = 'buyer' | 'seller' | 'service'

/** Who asks Registries of the signed line. */
export type Identity = { signer: Signer; role: Role }

/** A question and its answer have it in common. */
export type Exchange = Operation & { method: string; requestId: string }

/** The seven headers of a request. @param body as JSON; empty for none. @throws SyntaxError for a body without canonical form */
export function signRequest(
  { principal, sign }: Signer,
  { role, timestamp, body, ...exchange }: Exchange & { role: Role; timestamp: number; body: Buffer },
): Record<string, string> {
  const message = frame([
    REQUEST_VERSION,
    role,
    principal.scheme,
    principal.identifier,
    exchange.method,
    exchange.operation,
    exchange.resource,
    exchange.requestId,
    String(timestamp),
    bodyHash(body),
  ])
  return {
    'x-market-signature-version': REQUEST_VERSION,
    'x-market-identity-scheme': principal.scheme,
    'x-market-identity-identifier': principal.identifier,
    'x-market-role': role,
    'x-market-request-id': exchange.requestId,
    'x-market-timestamp': String(timestamp),
    'x-market-signature': sign(message),
  }
}

type SignedAnswer = { status: number; headers: IncomingHttpHeaders; body: Buffer }

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
  const message = frame([
    ANSWER_VERSION,
    'registry',
    principal.scheme,
    principal.identifier,
    exchange.method,
    exchange.operation,
    exchange.resource,
    exchange.requestId,
    timestamp,
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
