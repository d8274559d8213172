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
  /**
   * Where its reader last had read all there was. Behind it, entries that others have superseded were passed over.
   */
  caughtUpTo: number
  /** Sources of which its reader lacks something, one bit each. */
  missing: bigint
  /** `ChangeLog.startBefore` of the position. */
  start: string
  /** When it was given, in ms since the Unix epoch. */
  at: number
}

/**
 * Sealed with AES-256-GCM under the incarnation of the log, which every process on the store knows and no reader: numbers
 * would show how much changes in sources that a reader may not see.
 * @param digest of everything that decides what the reader is sent
 */
export function sealPosition(
  { position, caughtUpTo, missing, start, at }: FeedPosition,
  digest: string,
  incarnation: string,
): string {
  const nonce = Buffer.from(randomId(), 'base64url')
  const cipher = createCipheriv('aes-256-gcm', keyOf(incarnation), nonce).setAAD(Buffer.from(digest))
  const sealed = cipher.update(
    digits(position) +
      digits(caughtUpTo) +
      missing.toString(16).padStart(MISSING_LENGTH, '0') +
      digits(Math.floor(at)) +
      start.padStart(START_LENGTH),
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
const POSITION_LENGTH = 16
/** Hexadecimal digits: 64 bits. */
const MISSING_LENGTH = 16
export const MAX_MISSING = 64
/** Characters of a random id. */
const START_LENGTH = 16

const digits = (position: number): string => String(position).padStart(POSITION_LENGTH, '0')
const MAX_LENGTH = 1000
const TEXT_LENGTH = 3 * POSITION_LENGTH + MISSING_LENGTH + START_LENGTH

function decipher(bytes: Buffer, digest: string, incarnation: string): FeedPosition | null {
  if (bytes.length !== NONCE_BYTES + TEXT_LENGTH + TAG_BYTES) return null
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
    return {
      position: Number(text.slice(0, POSITION_LENGTH)),
      caughtUpTo: Number(text.slice(POSITION_LENGTH, 2 * POSITION_LENGTH)),
      missing: BigInt(`0x${text.slice(2 * POSITION_LENGTH, -START_LENGTH - POSITION_LENGTH)}`),
      at: Number(text.slice(-START_LENGTH - POSITION_LENGTH, -START_LENGTH)),
      start: text.slice(-START_LENGTH).trimStart(),
    }
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
