import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import { toPriceKey } from '../domain/price/price-key.ts'
import { MAX_CURSOR_LENGTH } from '../domain/query.ts'
import { randomId } from '../domain/random-id.ts'
import { EntrepotError } from '../errors.ts'
import type { ResumePoint } from './walk.ts'

export const CURSOR_SECONDS = 3600

export type CursorContent = ResumePoint & {
  /** As counted for the first page. */
  total: number
}

/**
 * Sealed with AES-256-GCM: opaque, since cursors name sources, and authentic. A cursor is bound to its
 * question and is valid at every replica with the same secret (`REGISTRY_ADMIN_API_KEY`).
 */
export class Cursors {
  readonly #key: KeyObject
  readonly #nowSeconds: () => number

  constructor(secret: string, nowSeconds: () => number) {
    this.#key = createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', 'entrepot cursor 8', 32)))
    this.#nowSeconds = nowSeconds
  }

  seal(content: CursorContent, question: string): string {
    const text = JSON.stringify({ ...pack(content), expiresAt: this.#nowSeconds() + CURSOR_SECONDS })
    const nonce = Buffer.from(randomId(), 'base64url')
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce).setAAD(Buffer.from(question))
    const sealed = [nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()]
    return Buffer.concat(sealed).toString('base64url')
  }

  /** @throws EntrepotError `bad_request` for a cursor that was changed, is of another query, or expired */
  open(cursor: string, question: string): CursorContent {
    const opened = this.#decipher(cursor, question)
    if (opened === null)
      throw invalidCursor(
        'is not valid for this query, its filters and sources included; begin again without it',
      )
    const { expiresAt, ...content } = opened
    if (this.#nowSeconds() > expiresAt) throw invalidCursor('has expired; begin again without it')
    return unpack(content)
  }

  #decipher(cursor: string, question: string): (Packed & { expiresAt: number }) | null {
    const bytes = Buffer.from(cursor.slice(0, MAX_CURSOR_LENGTH), 'base64url')
    // Decoding ignores invalid characters.
    if (bytes.length < NONCE_BYTES + TAG_BYTES || bytes.toString('base64url') !== cursor) return null
    const nonce = bytes.subarray(0, NONCE_BYTES)
    const decipher = createDecipheriv('aes-256-gcm', this.#key, nonce, { authTagLength: TAG_BYTES })
    decipher.setAAD(Buffer.from(question)).setAuthTag(bytes.subarray(-TAG_BYTES))
    try {
      const text = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()])
      return JSON.parse(text.toString())
    } catch {
      return null // not authentic
    }
  }
}

/** Whether a text has the form of a cursor: base64url, and longer than what people write. */
export function isCursorText(text: string): boolean {
  return /^[\w-]{100,}$/.test(text)
}

type Packed = ReturnType<typeof pack>

/** Keys of prices may be larger than a number. */
function pack(content: CursorContent) {
  if (!('groups' in content)) return content
  return { ...content, after: { ...content.after, key: String(content.after.key) } }
}

function unpack(content: Packed): CursorContent {
  if (!('groups' in content)) return content
  return { ...content, after: { ...content.after, key: toPriceKey(BigInt(content.after.key)) } }
}

export function invalidCursor(what: string): EntrepotError {
  return new EntrepotError('bad_request', `cursor: ${what}`)
}

const NONCE_BYTES = 12
const TAG_BYTES = 16
