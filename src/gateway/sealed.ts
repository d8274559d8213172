import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import { randomId } from '../domain/random-id.ts'

const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Of a secret, for one use of it. */
export function sealingKey(secret: string, use: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', use, 32)))
}

/** Sealed with AES-256-GCM, in base64url: opaque, authentic, and bound to a question. */
export function seal(text: string, question: string, key: KeyObject): string {
  const nonce = Buffer.from(randomId(), 'base64url')
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(question))
  const sealed = [nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()]
  return Buffer.concat(sealed).toString('base64url')
}

/** `null` for what was changed, or is of another question or key. */
export function unseal(sealed: string, question: string, key: KeyObject): string | null {
  const bytes = Buffer.from(sealed, 'base64url')
  // Decoding ignores invalid characters.
  if (bytes.length < NONCE_BYTES + TAG_BYTES || bytes.toString('base64url') !== sealed) return null
  const nonce = bytes.subarray(0, NONCE_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(question)).setAuthTag(bytes.subarray(-TAG_BYTES))
  try {
    const text = [decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]
    return Buffer.concat(text).toString()
  } catch {
    return null // not authentic
  }
}
