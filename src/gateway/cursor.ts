import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { EntrepotError } from '../errors.ts'
import { KEY_LENGTH } from './copy-key.ts'
import type { Standing } from './walk.ts'

/** How long a cursor is good for. */
export const CURSOR_SECONDS = 3600

/** Longest text that is looked at: 100 sources take up about 4,000 characters, as many keys as there may be 5,500. */
const MAX_CURSOR_LENGTH = 12_288

/**
 * Most copies of either kind that a cursor names: more than are passed by at a time among thousands of listings. They
 * are asked for only where a walk is not remembered.
 */
const MAX_KEYS = 256

/** Where a reader stands in a merged sequence. */
export type Position = Standing & {
  /** Distinct matches, as the first page said. */
  total: number
  /** What is remembered of this walk, if it still is; empty where nothing has to be. */
  walk: string
}

/**
 * Cursors, sealed with AES-256-GCM: opaque, since they name sources, and authentic. Whoever has the same secret opens
 * them: replicas that share `REGISTRY_ADMIN_API_KEY`. They are bound to the question, what its reader may see included.
 */
export class Cursors {
  readonly #key: Buffer
  readonly #nowSeconds: () => number

  constructor(secret: string, nowSeconds: () => number) {
    this.#key = Buffer.from(hkdfSync('sha256', secret, '', 'entrepot cursor 1', 32))
    this.#nowSeconds = nowSeconds
  }

  /** @param question all that has to be the same for the cursor to mean anything */
  seal({ behind, isCrowd, spans, nth, passed, ahead, total, walk }: Position, question: string): string {
    const { createdAt, rank, listingId } = behind
    const parts: Parts = [
      this.#nowSeconds() + CURSOR_SECONDS,
      createdAt,
      rank,
      listingId,
      isCrowd,
      nth,
      total,
      walk,
      Object.entries(spans).map(([name, { from, to }]) => [name, from, to]),
      passed.slice(-MAX_KEYS).join(''),
      ahead.slice(0, MAX_KEYS).join(''),
    ]
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce).setAAD(Buffer.from(question))
    const sealed = [nonce, cipher.update(JSON.stringify(parts)), cipher.final(), cipher.getAuthTag()]
    return Buffer.concat(sealed).toString('base64url')
  }

  /** @throws EntrepotError `bad_request` for one that was changed, is another question's, or is too old */
  open(cursor: string, question: string): Position {
    const parts = this.#decipher(cursor, question)
    if (parts === null)
      throw new EntrepotError(
        'bad_request',
        'cursor: not one of ours for this very question, filters and sources included; begin again without it',
      )
    const [expiresAt, createdAt, rank, listingId, isCrowd, nth, total, walk, sources, passed, ahead] = parts
    if (this.#nowSeconds() > expiresAt)
      throw new EntrepotError('bad_request', 'cursor: has expired; begin again without it')
    const spans = Object.fromEntries(sources.map(([name, from, to]) => [name, { from, to }]))
    return {
      behind: { createdAt, rank, listingId },
      isCrowd,
      spans,
      nth,
      passed: keysIn(passed),
      ahead: keysIn(ahead),
      total,
      walk,
    }
  }

  #decipher(cursor: string, question: string): Parts | null {
    const bytes = Buffer.from(cursor.slice(0, MAX_CURSOR_LENGTH), 'base64url')
    // Decoding passes over what does not belong there.
    if (bytes.length < NONCE_BYTES + TAG_BYTES || bytes.toString('base64url') !== cursor) return null
    const nonce = bytes.subarray(0, NONCE_BYTES)
    const decipher = createDecipheriv('aes-256-gcm', this.#key, nonce, { authTagLength: TAG_BYTES })
    decipher.setAAD(Buffer.from(question)).setAuthTag(bytes.subarray(-TAG_BYTES))
    try {
      const text = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()])
      return JSON.parse(text.toString())
    } catch {
      // Not authentic: nothing in it can be told from noise.
      return null
    }
  }
}

const NONCE_BYTES = 12
const TAG_BYTES = 16

const keysIn = (text: string): string[] =>
  Array.from({ length: text.length / KEY_LENGTH }, (_, n) => text.slice(n * KEY_LENGTH, (n + 1) * KEY_LENGTH))

type Parts = [
  expiresAt: number,
  createdAt: number,
  rank: number,
  listingId: string,
  isCrowd: boolean,
  nth: number,
  total: number,
  walk: string,
  sources: [name: string, from: number, to: number][],
  passed: string,
  ahead: string,
]
