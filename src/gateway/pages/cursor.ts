import type { KeyObject } from 'node:crypto'
import { toPriceKey } from '../../domain/price/price-key.ts'
import { MAX_CURSOR_LENGTH } from '../../domain/query.ts'
import type { Micros } from '../../domain/timestamp.ts'
import { EntrepotError } from '../../errors.ts'
import type { PriceAfter } from '../../listing-index/price-walk.ts'
import type { Place } from '../../listing-index/segment.ts'
import { seal, sealingKey, unseal } from '../sealed.ts'
import type { Bound } from './price-bounds.ts'

export const CURSOR_SECONDS = 3600

export type ResumePoint = NewestPoint | PricePoint

/** `cap`: later times come last, on every page. */
export type NewestPoint = { after: Place; cap?: Micros | undefined }

/** Where an answer by price continues. */
export type PricePoint = {
  /** Names of the groups, as for the first page. */
  groups: readonly string[]
  /** Of the first page: what they mark comes last on every page. */
  bounds: readonly Bound[]
  after: PriceAfter & { part: number }
}

export type CursorContent = ResumePoint & {
  /** As counted for the first page. */
  total: number
}

/** A cursor is bound to its question and is valid at every replica with the same secret (`REGISTRY_ADMIN_API_KEY`). */
export class Cursors {
  readonly #key: KeyObject
  readonly #nowSeconds: () => number

  constructor(secret: string, nowSeconds: () => number) {
    this.#key = sealingKey(secret, 'entrepot cursor 9')
    this.#nowSeconds = nowSeconds
  }

  /** Opaque, since cursors name sources. */
  seal(content: CursorContent, question: string): string {
    const text = JSON.stringify({ ...pack(content), expiresAt: this.#nowSeconds() + CURSOR_SECONDS })
    return seal(text, question, this.#key)
  }

  /** @throws EntrepotError `bad_request` for a cursor that was changed, is of another query, or expired */
  open(cursor: string, question: string): CursorContent {
    const text = cursor.length > MAX_CURSOR_LENGTH ? null : unseal(cursor, question, this.#key)
    if (text === null)
      throw invalidCursor(
        'is not valid for this query, its filters and sources included; begin again without it',
      )
    const { expiresAt, ...content } = JSON.parse(text) as Packed & { expiresAt: number }
    if (this.#nowSeconds() > expiresAt) throw invalidCursor('has expired; begin again without it')
    return unpack(content)
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
  return { ...content, after: { ...content.after, price: String(content.after.price) } }
}

function unpack(content: Packed): CursorContent {
  if (!('groups' in content)) return content
  return { ...content, after: { ...content.after, price: toPriceKey(BigInt(content.after.price)) } }
}

function invalidCursor(what: string): EntrepotError {
  return new EntrepotError('bad_request', `cursor: ${what}`)
}
