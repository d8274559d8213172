import { hash } from 'node:crypto'
import type { Limiter } from '../../domain/limiter.ts'
import { type ClaimOperation, signedMessage } from '../../domain/listing.ts'
import { EntrepotError } from '../../errors.ts'
import type { JsonValue } from '../../json/value.ts'
import type { PublisherIdentity, UsedSignature } from '../../store/store.ts'
import { rateLimited } from '../errors.ts'

/** Into the past and into the future. */
const MAX_TIMESTAMP_SKEW_SECONDS = 300
/** Clock difference between replicas up to which a repeat is answered; beyond it the repeat is refused. */
const CLOCK_MARGIN_SECONDS = 300

/** From its timestamp on, a used signature is remembered for so long. */
export const USE_SECONDS = MAX_TIMESTAMP_SKEW_SECONDS + CLOCK_MARGIN_SECONDS

/** 32-byte numbers, and the parity that picks the public key. */
export type Signature = { r: bigint; s: bigint; yParity: 0 | 1 }

/** Recovers the lower-cased signer of an EIP-191 personal message; `null` if no key fits. */
export type RecoverAddress = (message: string, signature: Signature) => Promise<string | null>

export type Claim = {
  operation: ClaimOperation
  /** The publisher's identifier when publishing, else the listing id. */
  subject: string
  /** Lower-cased address that must have signed; `null` accepts any. */
  signer: string | null
  scheme: string
  signature: JsonValue | undefined
  timestamp: JsonValue | undefined
  /** Equal bytes are the same request. */
  body: Uint8Array
}

export type Verifier = {
  recover: RecoverAddress
  nowSeconds: () => number
  limiter: Limiter
}

export type Verified = { identity: PublisherIdentity; use: UsedSignature }

/** @throws EntrepotError `unauthorized` in the deployed protocol's words; `invalid` where that crashes */
export async function verifyClaim(
  claim: Claim,
  { recover, nowSeconds }: Pick<Verifier, 'recover' | 'nowSeconds'>,
): Promise<Verified> {
  const { operation, subject, signer, scheme } = claim
  if (!claim.signature || !claim.timestamp) throw unauthorized(MISSING[operation])
  const now = nowSeconds()
  const timestamp = readTimestamp(claim.timestamp, now)
  const signature = readSignature(claim.signature)
  if (scheme !== 'eip191' || signature === null) throw unauthorized('Invalid signature')
  const recovered = await recover(signedMessage(operation, subject, timestamp), signature)
  if (recovered === null || (signer !== null && recovered !== signer)) throw unauthorized('Invalid signature')
  const use: UsedSignature = {
    signature: fingerprint(signature),
    body: hash('sha256', claim.body),
    expiresAt: (timestamp + USE_SECONDS) * MICROS_PER_SECOND,
    now: now * MICROS_PER_SECOND,
  }
  return { identity: { scheme, identifier: recovered }, use }
}

/**
 * Must not count a known use: an observer of a signed request could resend it to use up the publisher's limit.
 * @throws EntrepotError `rate_limited`
 */
export async function countMutation({ identity }: Verified, { limiter }: Verifier): Promise<void> {
  const state = await limiter('publish', `publisher:${identity.identifier}`)
  if (state?.exceeded) throw rateLimited('publisher', state)
}

const MICROS_PER_SECOND = 1_000_000

const MISSING: Readonly<Record<ClaimOperation, string>> = {
  create_listing: 'Signature and timestamp required to publish',
  update_listing: 'Signature and timestamp required for authenticated listings',
  delete_listing: 'Signature and timestamp required for authenticated listings',
}

const unauthorized = (detail: string): EntrepotError => new EntrepotError('unauthorized', detail)

function readTimestamp(value: JsonValue, now: number): number {
  const isNumber = typeof value === 'number' || typeof value === 'bigint' || value === true
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

const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** 65 bytes r‖s‖v in hex, `0x` optional, blanks allowed between bytes; `null` for anything else. */
function readSignature(value: JsonValue): Signature | null {
  if (typeof value !== 'string') throw wrongType('signature', 'a string of 65 bytes in hex')
  const hex = value.replace(/^0x/, '').replace(/\s+/g, '')
  if (!/^[0-9a-f]{130}$/i.test(hex)) return null
  const r = BigInt(`0x${hex.slice(0, 64)}`)
  const s = BigInt(`0x${hex.slice(64, 128)}`)
  const yParity = parity(Number.parseInt(hex.slice(128), 16))
  const inRange = r > 0n && r < CURVE_ORDER && s > 0n && s < CURVE_ORDER
  return yParity === null || !inRange ? null : { r, s, yParity }
}

/** 27 and 28, 0 and 1, or EIP-155's 35 and above. */
function parity(v: number): 0 | 1 | null {
  if (v === 0 || v === 27) return 0
  if (v === 1 || v === 28) return 1
  return v >= 35 ? (((v + 1) % 2) as 0 | 1) : null
}

/** Equal for `s` and `n - s`: each form follows from the other without the key, so both are one use. */
function fingerprint({ r, s }: Signature): string {
  const low = s > CURVE_ORDER / 2n ? CURVE_ORDER - s : s
  return hash('sha256', `${r.toString(16)}:${low.toString(16)}`)
}
