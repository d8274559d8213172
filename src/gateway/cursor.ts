import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { EntrepotError } from '../errors.ts'
import type { Place } from './place.ts'
import type { Span } from './track.ts'

/** How long a cursor is good for. */
export const CURSOR_SECONDS = 3600

/** Longest text that is looked at: 100 sources take up about 4,000 characters. */
const MAX_CURSOR_LENGTH = 8192

/** Where a reader stands in a merged sequence. */
export type Position = {
  /** The last listing that she has seen. */
  behind: Place
  /** What of each source would have to be read to go on. */
  spans: Readonly<Record<string, Span>>
  /** Listings that she has seen. */
  nth: number
  /** Distinct matches, as the first page said. */
  total: number
  /** What is remembered of this walk, if it still is. */
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
  seal({ behind, spans, nth, total, walk }: Position, question: string): string {
    const expiresAt = this.#nowSeconds() + CURSOR_SECONDS
    const sources = Object.entries(spans).map(([name, { from, to }]) => [name, from, to])
    const parts = [expiresAt, behind.createdAt, behind.rank, behind.listingId, nth, total, walk, sources]
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
    const [expiresAt, createdAt, rank, listingId, nth, total, walk, sources] = parts
    if (this.#nowSeconds() > expiresAt)
      throw new EntrepotError('bad_request', 'cursor: has expired; begin again without it')
    const spans = Object.fromEntries(sources.map(([name, from, to]) => [name, { from, to }]))
    return { behind: { createdAt, rank, listingId }, spans, nth, total, walk }
  }

  #decipher(cursor: string, question: string): Parts | null {
    const bytes = Buffer.from(cursor.slice(0, MAX_CURSOR_LENGTH), 'base64url')
    if (bytes.length < NONCE_BYTES + TAG_BYTES) return null
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

type Parts = [
  expiresAt: number,
  createdAt: number,
  rank: number,
  listingId: string,
  nth: number,
  total: number,
  walk: string,
  sources: [name: string, from: number, to: number][],
]
