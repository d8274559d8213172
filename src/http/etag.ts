import { createCipheriv, createSecretKey, hash, hkdfSync } from 'node:crypto'

/** Equal for equal contents, under one secret. */
export type ContentTag = (bytes: Uint8Array, text: string) => string

/**
 * Hashes long bytes with GMAC (NIST SP 800-38D), at six times the speed of SHA-256. Its tag is hashed again and never
 * shown, so one nonce is enough, and without the secret equal tags cannot be made.
 */
export function createContentTag(secret: string): ContentTag {
  const key = createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', 'entrepot etag', 32)))
  const nonce = Buffer.alloc(12)
  return (bytes, text) => {
    const gmac = createCipheriv('aes-256-gcm', key, nonce).setAAD(bytes)
    gmac.final()
    return hash('sha256', gmac.getAuthTag().toString('base64url') + text, 'base64url').slice(0, 27)
  }
}
