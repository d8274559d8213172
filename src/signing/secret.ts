import { decodeBase64Url, KEY_BYTES, type Scheme } from './principal.ts'

/** A private key as files hold it. */
export type Secret = { scheme: Scheme; key: Buffer }

/** The seed of Ed25519 in base64url, or the private key of a wallet in hex. `null` for anything else. */
export function readSecret(text: string): Secret | null {
  const digits = /^(?:0x)?([0-9a-f]{64})$/i.exec(text.trim())?.[1]
  if (digits !== undefined) return { scheme: 'eip191', key: Buffer.from(digits, 'hex') }
  const key = decodeBase64Url(text.trim(), KEY_BYTES)
  return key && { scheme: 'ed25519', key }
}
