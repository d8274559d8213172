import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { remembered } from '../domain/remembered.ts'
import { addressOfKey, readSignature, recoverAddress, signMessage } from './eip191.ts'
import type { Principal, Scheme } from './principal.ts'
import type { Secret } from './secret.ts'

/** Signs with one private key, which never leaves it. */
export type Signer = { principal: Principal; sign: (message: Uint8Array) => string }

/** 64 bytes in base64url: the last character has two bits. */
const ED25519_PROOF = /^[\w-]{85}[AQgw]$/
/** PKCS #8 of an Ed25519 key, up to its seed (RFC 8410). */
const SEED_HEADER = Buffer.from('302e020100300506032b657004220420', 'hex')

/** `null` for 32 bytes that are no key of the scheme. */
export function openSigner({ scheme, key }: Secret): Signer | null {
  return scheme === 'eip191' ? openWallet(key) : openEd25519(key)
}

function openWallet(key: Buffer): Signer | null {
  try {
    const principal = { scheme: 'eip191', identifier: addressOfKey(key) } as const
    return { principal, sign: (message) => `0x${signMessage(message, key)}` }
  } catch {
    return null // zero, or beyond the order of the curve
  }
}

function openEd25519(seed: Buffer): Signer {
  const key = createPrivateKey({ key: Buffer.concat([SEED_HEADER, seed]), format: 'der', type: 'pkcs8' })
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' })
  const principal = { scheme: 'ed25519', identifier: x } as const
  return { principal, sign: (message) => sign(null, message, key).toString('base64url') }
}

/** Whether a text has the form of a proof of that scheme. */
export const isProofText = (scheme: Scheme, proof: string): boolean =>
  (scheme === 'eip191' ? /^0x[0-9a-f]{130}$/ : ED25519_PROOF).test(proof)

export function isProof({ scheme, identifier }: Principal, message: Uint8Array, proof: string): boolean {
  if (!isProofText(scheme, proof)) return false
  if (scheme === 'eip191') {
    const signature = readSignature(proof)
    return signature !== null && recoverAddress(message, signature) === identifier
  }
  return verify(null, message, publicKeyOf(identifier), Buffer.from(proof, 'base64url'))
}

const keys = new Map<string, KeyObject>()

const publicKeyOf = (identifier: string): KeyObject =>
  remembered(keys, identifier, () =>
    createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: identifier }, format: 'jwk' }),
  )
