import type { KeyObject } from 'node:crypto'
import { EntrepotError } from '../../errors.ts'
import { seal, sealingKey, unseal } from '../sealed.ts'

/** A place in the log of changes. */
export type FeedPosition = {
  position: number
  /**
   * Where its reader last had read all there was. Behind it, entries that others have superseded were passed over.
   */
  caughtUpTo: number
  /** Sources of which its reader lacks something, one bit each. */
  missing: bigint
  /** `LogInMemory.startBefore` of the position. */
  start: string
  /** When it was given, in ms since the Unix epoch. */
  at: number
}

/**
 * Sealed under the incarnation of the log, which every process on the store knows and no reader: numbers would show how much
 * changes in sources that a reader may not see.
 * @param question everything that decides what the reader is sent
 */
export function sealPosition(
  { position, caughtUpTo, missing, start, at }: FeedPosition,
  question: string,
  incarnation: string,
): string {
  const text = JSON.stringify([position, caughtUpTo, missing.toString(16), start, Math.floor(at)])
  return seal(text.padEnd(LENGTH), question, keyOf(incarnation))
}

/** @throws EntrepotError `bad_request` for a text that is no position, `gone` for one of another log or query */
export function openPosition(sealed: string, question: string, incarnation: string): FeedPosition {
  const bytes = Buffer.from(sealed.slice(0, MAX_LENGTH), 'base64url')
  if (sealed === '' || bytes.toString('base64url') !== sealed)
    throw new EntrepotError('bad_request', 'since: is not a position, which is a text in base64url')
  const text = unseal(sealed, question, keyOf(incarnation))
  if (text === null) throw goneError('is too old, or is one of another query, reader or service')
  const [position, caughtUpTo, missing, start, at] = JSON.parse(text) as [
    number,
    number,
    string,
    string,
    number,
  ]
  return { position, caughtUpTo, missing: BigInt(`0x${missing}`), start, at }
}

export function goneError(why: string): EntrepotError {
  return new EntrepotError(
    'gone',
    `The position ${why}: read GET /listings again, and continue from its Changes-Position`,
  )
}

/** Characters of what is sealed, of three times, a random id and `missing`: shorter numbers must not show. */
const LENGTH = 120
const MAX_LENGTH = 1000
/** Bits of `missing`. */
const MAX_MISSING = 64

/** Of the source of that rank among those of a reader; all ranks beyond the last bit share it. */
export const bitOf = (rank: number): bigint => 1n << BigInt(Math.min(rank, MAX_MISSING - 1))

let latest: { incarnation: string; key: KeyObject } | null = null

function keyOf(incarnation: string): KeyObject {
  if (latest?.incarnation !== incarnation)
    latest = { incarnation, key: sealingKey(incarnation, 'entrepot changes 2') }
  return latest.key
}
