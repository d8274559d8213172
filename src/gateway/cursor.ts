import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import { toPriceKey } from '../domain/price/price-key.ts'
import { randomId } from '../domain/random-id.ts'
import { EntrepotError } from '../errors.ts'
import type { PricePoint } from './by-price/price-sequence.ts'
import type { ResumePoint } from './merge.ts'
import type { SourceHint } from './source-reader.ts'

export const CURSOR_SECONDS = 3600
export const MAX_CURSOR_LENGTH = 16_384
/** Without the cursor of an upstream gateway, that gateway is read from the top. */
const MAX_CARRIED_LENGTH = 4096

export type CursorContent = (ResumePoint | PricePoint) & {
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
    this.#key = createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', 'entrepot cursor 3', 32)))
    this.#nowSeconds = nowSeconds
  }

  seal(content: CursorContent, question: string): string {
    const text = JSON.stringify({ ...pack(content), expiresAt: this.#nowSeconds() + CURSOR_SECONDS })
    const nonce = Buffer.from(randomId(), 'base64url')
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce).setAAD(Buffer.from(question))
    const sealed = [nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()]
    return Buffer.concat(sealed).toString('base64url')
  }

  /** @throws EntrepotError `bad_request` for a cursor that was changed, is of another question, or expired */
  open(cursor: string, question: string): CursorContent {
    const opened = this.#decipher(cursor, question)
    if (opened === null)
      throw invalidCursor(
        'is not valid for this question, its filters and sources included; begin again without it',
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

type Packed = ReturnType<typeof pack>

function pack(content: CursorContent) {
  if ('hints' in content) return { ...content, hints: Object.entries(content.hints).map(packHint) }
  return { ...content, after: { ...content.after, key: String(content.after.key) } }
}

function unpack(content: Packed): CursorContent {
  if ('hints' in content) return { ...content, hints: Object.fromEntries(content.hints.map(unpackHint)) }
  return { ...content, after: { ...content.after, key: toPriceKey(BigInt(content.after.key)) } }
}

/** Short, since a gateway may have a hundred sources. `from` and `to`: as `SourceHint.data`. */
type PackedHint = [name: string, offset: number, ...more: [] | [resume: string] | [from: number, to: number]]

function packHint([name, { offset, resume, data }]: [name: string, hint: SourceHint]): PackedHint {
  if (data !== undefined) return [name, offset, data.from, data.to]
  return resume === undefined || resume.length > MAX_CARRIED_LENGTH ? [name, offset] : [name, offset, resume]
}

function unpackHint([name, offset, more, to]: PackedHint): [name: string, hint: SourceHint] {
  if (typeof more === 'number') return [name, { offset, data: { from: more, to: to! } }]
  return [name, { offset, resume: more }]
}

export function invalidCursor(what: string): EntrepotError {
  return new EntrepotError('bad_request', `cursor: ${what}`)
}

const NONCE_BYTES = 12
const TAG_BYTES = 16
