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
  const bits = missing.toString(16).padStart(MISSING_LENGTH, '0')
  const text = `${digits(position)}${digits(caughtUpTo)}${bits}${digits(Math.floor(at))}${start.padStart(START_LENGTH)}`
  return seal(text, question, keyOf(incarnation))
}

/** @throws EntrepotError `bad_request` for a text that is no position, `gone` for one of another log or query */
export function openPosition(position: string, question: string, incarnation: string): FeedPosition {
  const bytes = Buffer.from(position.slice(0, MAX_LENGTH), 'base64url')
  if (position === '' || bytes.toString('base64url') !== position)
    throw new EntrepotError('bad_request', 'since: is not a position, which is a text in base64url')
  const text = unseal(position, question, keyOf(incarnation))
  if (text === null) throw goneError('is too old, or is one of another query, reader or service')
  return {
    position: Number(text.slice(0, POSITION_LENGTH)),
    caughtUpTo: Number(text.slice(POSITION_LENGTH, 2 * POSITION_LENGTH)),
    missing: BigInt(`0x${text.slice(2 * POSITION_LENGTH, -START_LENGTH - POSITION_LENGTH)}`),
    at: Number(text.slice(-START_LENGTH - POSITION_LENGTH, -START_LENGTH)),
    start: text.slice(-START_LENGTH).trimStart(),
  }
}

export function goneError(why: string): EntrepotError {
  return new EntrepotError(
    'gone',
    `The position ${why}: read GET /listings again, and continue from its Changes-Position`,
  )
}

const POSITION_LENGTH = 16
/** Hexadecimal digits: 64 bits. */
const MISSING_LENGTH = 16
const MAX_MISSING = 64
/** Characters of a random id. */
const START_LENGTH = 16
const MAX_LENGTH = 1000

/** Of the source of that rank among those of a reader; all ranks beyond the last bit share it. */
export const bitOf = (rank: number): bigint => 1n << BigInt(Math.min(rank, MAX_MISSING - 1))

const digits = (position: number): string => String(position).padStart(POSITION_LENGTH, '0')

let latest: { incarnation: string; key: KeyObject } | null = null

function keyOf(incarnation: string): KeyObject {
  if (latest?.incarnation !== incarnation)
    latest = { incarnation, key: sealingKey(incarnation, 'entrepot changes 1') }
  return latest.key
}
