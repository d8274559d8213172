import { type Bitset, onesIn, setBit } from './bitset.ts'
import type { Posting } from './posting.ts'

/**
 * A side of an intersection: a set, or with `flip` -1 all that is not in it; and besides, where `unless` is given,
 * all that is not in that one.
 */
export type Operand = { bits: Bitset; flip: 0 | -1; unless: Bitset | null }

/**
 * `result =` what is in `base` and in every operand; returns how many that are. Up to three operands a pass, with the
 * count in the same pass: reading and writing the words is what takes the time. `result` may be `base`.
 */
export const intersect = (result: Bitset, base: Bitset, operands: readonly Operand[]): number => {
  const all: Operand = { bits: base, flip: 0, unless: null }
  const lenient = operands.find(({ unless }) => unless !== null)
  const strict = operands.filter(({ unless }) => unless === null)
  const [a = all, b = all, c = all] = strict
  const count =
    lenient === undefined
      ? intersectThree(result, base, a, b, c)
      : intersectLenient(result, base, a, b, lenient, lenient.unless!)
  const passed = lenient === undefined ? [a, b, c] : [a, b, lenient]
  const rest = operands.filter((operand) => !passed.includes(operand))
  return rest.length === 0 || count === 0 ? count : intersect(result, result, rest)
}

/** The same for a base of few slots: they are looked at one by one, and no other word of any set is read. */
export const intersectFew = (result: Bitset, base: Posting, operands: readonly Operand[]): number => {
  let count = base.copyTo(candidates)
  for (const operand of operands) count = keepThoseIn(operand, count)
  result.fill(0)
  for (let n = 0; n < count; n++) setBit(result, candidates[n]!)
  return count
}

/** Slots of the largest block. */
const MOST_SLOTS = 65_536
/** What is left of the base. */
const candidates = new Uint16Array(MOST_SLOTS)

/** Moves those of the first `count` candidates that are in the operand to the front. Without a branch: half of them are. */
const keepThoseIn = ({ bits, flip, unless }: Operand, count: number): number => {
  let kept = 0
  if (unless === null) {
    for (let n = 0; n < count; n++) {
      const slot = candidates[n]!
      candidates[kept] = slot
      kept += ((bits[slot >> 5]! ^ flip) >>> (slot & 31)) & 1
    }
  } else {
    for (let n = 0; n < count; n++) {
      const slot = candidates[n]!
      candidates[kept] = slot
      kept += (((bits[slot >> 5]! ^ flip) | ~unless[slot >> 5]!) >>> (slot & 31)) & 1
    }
  }
  return kept
}

const intersectThree = (result: Bitset, base: Bitset, a: Operand, b: Operand, c: Operand): number => {
  const words = result.length
  const { bits: aBits, flip: aFlip } = a
  const { bits: bBits, flip: bFlip } = b
  const { bits: cBits, flip: cFlip } = c
  let count = 0
  for (let n = 0; n < words; n++) {
    const word = base[n]! & (aBits[n]! ^ aFlip) & (bBits[n]! ^ bFlip) & (cBits[n]! ^ cFlip)
    result[n] = word
    if (word !== 0) count += onesIn(word)
  }
  return count
}

const intersectLenient = (
  result: Bitset,
  base: Bitset,
  a: Operand,
  b: Operand,
  c: Operand,
  unless: Bitset,
): number => {
  const words = result.length
  const { bits: aBits, flip: aFlip } = a
  const { bits: bBits, flip: bFlip } = b
  const { bits: cBits, flip: cFlip } = c
  let count = 0
  for (let n = 0; n < words; n++) {
    const word = base[n]! & (aBits[n]! ^ aFlip) & (bBits[n]! ^ bFlip) & ((cBits[n]! ^ cFlip) | ~unless[n]!)
    result[n] = word
    if (word !== 0) count += onesIn(word)
  }
  return count
}
