import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomFillSync,
} from 'node:crypto'
import { toPriceKey } from '../domain/price/price-key.ts'
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
    this.#key = createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', 'entrepot cursor 2', 32)))
    this.#nowSeconds = nowSeconds
  }

  seal(content: CursorContent, question: string): string {
    const expiresAt = this.#nowSeconds() + CURSOR_SECONDS
    const parts = 'groups' in content ? packPrice(content, expiresAt) : packNewest(content, expiresAt)
    const nonce = randomNonce()
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce).setAAD(Buffer.from(question))
    const sealed = [nonce, cipher.update(JSON.stringify(parts)), cipher.final(), cipher.getAuthTag()]
    return Buffer.concat(sealed).toString('base64url')
  }

  /** @throws EntrepotError `bad_request` for a cursor that was changed, is of another question, or expired */
  open(cursor: string, question: string): CursorContent {
    const parts = this.#decipher(cursor, question)
    if (parts === null)
      throw invalidCursor(
        'is not valid for this question, its filters and sources included; begin again without it',
      )
    if (this.#nowSeconds() > parts[0]) throw invalidCursor('has expired; begin again without it')
    return Array.isArray(parts[1]) ? unpackPrice(parts as PriceParts) : unpackNewest(parts as NewestParts)
  }

  #decipher(cursor: string, question: string): NewestParts | PriceParts | null {
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

export function invalidCursor(what: string): EntrepotError {
  return new EntrepotError('bad_request', `cursor: ${what}`)
}

const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Unused random bytes, each of which is in one nonce. */
let unused: Buffer = Buffer.alloc(0)

/** One call for many nonces costs little more than for one. */
function randomNonce(): Buffer {
  if (unused.length === 0) unused = randomFillSync(Buffer.allocUnsafeSlow(256 * NONCE_BYTES))
  const nonce = unused.subarray(0, NONCE_BYTES)
  unused = unused.subarray(NONCE_BYTES)
  return nonce
}

type PriceParts = [
  expiresAt: number,
  groups: readonly string[],
  group: number,
  key: string,
  position: number,
  listingId: string,
  rank: number,
  nth: number,
  total: number,
]

function packPrice({ groups, after, total }: PricePoint & { total: number }, expiresAt: number): PriceParts {
  const { group, key, position, listingId, rank, nth } = after
  return [expiresAt, groups, group, String(key), position, listingId, rank, nth, total]
}

function unpackPrice([
  ,
  groups,
  group,
  key,
  position,
  listingId,
  rank,
  nth,
  total,
]: PriceParts): CursorContent {
  return { groups, after: { group, key: toPriceKey(BigInt(key)), position, listingId, rank, nth }, total }
}

type NewestParts = [
  expiresAt: number,
  position: number,
  rank: number,
  listingId: string,
  cap: number,
  total: number,
  sources: PackedHint[],
]

function packNewest(
  { after, cap, hints, total }: ResumePoint & { total: number },
  expiresAt: number,
): NewestParts {
  const sources = Object.entries(hints).map(([name, hint]) => packHint(name, hint))
  return [expiresAt, after.position, after.rank, after.listingId, cap, total, sources]
}

function unpackNewest([, position, rank, listingId, cap, total, sources]: NewestParts): CursorContent {
  const hints = Object.fromEntries(sources.map(unpackHint))
  return { after: { position, rank, listingId }, cap, hints, total }
}

/** `resume`: a gateway's cursor; `from` and `to`: as `SourceHint.data`. */
type PackedHint = [name: string, offset: number, ...more: [] | [resume: string] | [from: number, to: number]]

function packHint(name: string, { offset, resume, data }: SourceHint): PackedHint {
  if (data !== undefined) return [name, offset, data.from, data.to]
  return resume === undefined || resume.length > MAX_CARRIED_LENGTH ? [name, offset] : [name, offset, resume]
}

function unpackHint([name, offset, more, to]: PackedHint): [name: string, hint: SourceHint] {
  if (typeof more === 'number') return [name, { offset, data: { from: more, to: to! } }]
  return [name, { offset, resume: more }]
}
