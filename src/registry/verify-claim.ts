import { hash } from 'node:crypto'
import type { Limiter } from '../domain/limiter.ts'
import {
  type ClaimOperation,
  MAX_TIMESTAMP_SKEW_SECONDS,
  signedMessage,
  USE_SECONDS,
} from '../domain/listing.ts'
import type { PublisherIdentity } from '../domain/publisher.ts'
import { EntrepotError } from '../errors.ts'
import type { JsonValue } from '../json/value.ts'
import { fingerprint, readSignature, recoverAddress } from '../signing/eip191.ts'
import type { UsedSignature } from '../store/commands.ts'
import type { JsonBody } from './write/request.ts'

type Claim = {
  operation: ClaimOperation
  /** The publisher's identifier when publishing, which may be signed in lower case, too; else the listing id. */
  subject: string
  /** Lower-cased address that must have signed; `null` accepts any. */
  signer: string | null
  scheme: string
}

export type Verifier = {
  nowSeconds: () => number
  limiter: Limiter
  /** Called with the address that has signed. */
  onSigned?: (address: string) => void
}

export type Verified = { identity: PublisherIdentity; use: UsedSignature }

/**
 * Equal bytes are the same request.
 * @throws EntrepotError `unauthorized` in the deployed protocol's words; `invalid` where that crashes
 */
export function verifyClaim(
  { operation, subject, signer, scheme }: Claim,
  { value: signed, bytes }: JsonBody,
  { nowSeconds, onSigned }: Pick<Verifier, 'nowSeconds' | 'onSigned'>,
): Verified {
  if (!signed.signature || signed.timestamp === undefined || signed.timestamp === null)
    throw unauthorized(MISSING[operation])
  const now = nowSeconds()
  const timestamp = readTimestamp(signed.timestamp, now)
  if (typeof signed.signature !== 'string') throw wrongType('signature', 'a string of 65 bytes in hex')
  const signature = readSignature(signed.signature)
  if (scheme !== 'eip191' || signature === null) throw unauthorized('Invalid signature')
  const recover = (text: string) => recoverAddress(signedMessage(operation, text, timestamp), signature)
  const lower = recover(signer ?? subject)
  const recovered = signer === null || lower === signer || subject === signer ? lower : recover(subject)
  if (recovered === null || (signer !== null && recovered !== signer)) throw unauthorized('Invalid signature')
  onSigned?.(recovered)
  const use: UsedSignature = {
    signature: fingerprint(signature),
    body: hash('sha256', bytes),
    expiresAt: (timestamp + USE_SECONDS) * MICROS_PER_SECOND,
    now: now * MICROS_PER_SECOND,
  }
  return { identity: { scheme, identifier: recovered }, use }
}

const MICROS_PER_SECOND = 1_000_000

const MISSING: Readonly<Record<ClaimOperation, string>> = {
  create_listing: 'Signature and timestamp required to publish',
  update_listing: 'Signature and timestamp required for authenticated listings',
  delete_listing: 'Signature and timestamp required for authenticated listings',
}

const unauthorized = (detail: string): EntrepotError => new EntrepotError('unauthorized', detail)

function readTimestamp(value: JsonValue, now: number): number {
  const isNumber = typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean'
  if (!isNumber) throw wrongType('timestamp', 'an integer of Unix seconds')
  const seconds = Number(value)
  if (!(Math.abs(now - seconds) <= MAX_TIMESTAMP_SKEW_SECONDS))
    throw unauthorized('Timestamp too old or too far in future (max 5 minutes)')
  // The deployed protocol writes a float with `.0` into the message, which no wallet signs.
  if (!Number.isInteger(seconds)) throw unauthorized('Invalid signature')
  return seconds
}

const wrongType = (member: string, expected: string): EntrepotError =>
  new EntrepotError('invalid', `${member}: expected ${expected}`, {
    errors: [{ path: `body.${member}`, message: `expected ${expected}` }],
  })
