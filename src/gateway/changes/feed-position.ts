import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hash,
  hkdfSync,
  type KeyObject,
} from 'node:crypto'
import { randomId } from '../../domain/random-id.ts'
import { EntrepotError } from '../../errors.ts'

/** A place in the log of changes. */
export type FeedPosition = {
  position: number
  /** Sources of which its reader lacks something, one bit each. */
  missing: bigint
}

/**
 * Sealed with AES-256-GCM under the incarnation of the log, which every process on the store knows and no reader: numbers
 * would show how much changes in sources that a reader may not see.
 * @param digest of everything that decides what the reader is sent
 */
export function sealPosition(
  { position, missing }: FeedPosition,
  digest: string,
  incarnation: string,
): string {
  const nonce = Buffer.from(randomId(), 'base64url')
  const cipher = createCipheriv('aes-256-gcm', keyOf(incarnation), nonce).setAAD(Buffer.from(digest))
  const sealed = cipher.update(
    String(position).padStart(POSITION_LENGTH, '0') + missing.toString(16).padStart(MISSING_LENGTH, '0'),
  )
  return Buffer.concat([nonce, sealed, cipher.final(), cipher.getAuthTag()]).toString('base64url')
}

/** @throws EntrepotError `bad_request` for a text that is no position, `gone` for one of another log or query */
export function openPosition(text: string, digest: string, incarnation: string): FeedPosition {
  const bytes = Buffer.from(text.slice(0, MAX_LENGTH), 'base64url')
  if (text === '' || bytes.toString('base64url') !== text)
    throw new EntrepotError('bad_request', 'since: is not a position, which is a text in base64url')
  const position = decipher(bytes, digest, incarnation)
  if (position === null) throw goneError('is too old, or is one of another query, reader or service')
  return position
}

export function goneError(why: string): EntrepotError {
  return new EntrepotError(
    'gone',
    `The position ${why}: read GET /listings again, and continue from its Changes-Position`,
  )
}

/** A short digest of these texts. */
export function digestOf(texts: readonly string[]): string {
  return hash('sha256', JSON.stringify(texts), 'base64url')
}

const NONCE_BYTES = 12
const TAG_BYTES = 16
const POSITION_LENGTH = 15
/** Hexadecimal digits: 64 bits. */
const MISSING_LENGTH = 16
export const MAX_MISSING = 64
const MAX_LENGTH = 1000

function decipher(bytes: Buffer, digest: string, incarnation: string): FeedPosition | null {
  if (bytes.length !== NONCE_BYTES + POSITION_LENGTH + MISSING_LENGTH + TAG_BYTES) return null
  const key = keyOf(incarnation)
  const opened = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  })
  opened.setAAD(Buffer.from(digest)).setAuthTag(bytes.subarray(-TAG_BYTES))
  try {
    const text = Buffer.concat([
      opened.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)),
      opened.final(),
    ]).toString()
    const [position, missing] = [text.slice(0, POSITION_LENGTH), text.slice(POSITION_LENGTH)]
    return { position: Number(position), missing: BigInt(`0x${missing}`) }
  } catch {
    return null // not authentic
  }
}

let latest: { incarnation: string; key: KeyObject } | null = null

function keyOf(incarnation: string): KeyObject {
  if (latest?.incarnation !== incarnation)
    latest = {
      incarnation,
      key: createSecretKey(Buffer.from(hkdfSync('sha256', incarnation, '', 'entrepot changes 1', 32))),
    }
  return latest.key
}
