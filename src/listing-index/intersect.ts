import { type Bitset, onesIn, setBit } from './bitset.ts'
import type { Posting } from './posting.ts'

/** One side of an intersection: `bits`, inverted where `flip` is -1, plus everything outside `unless`. */
export type Operand = { bits: Bitset; flip: 0 | -1; unless: Bitset | null }

/** Returns the count. `result` may be `base`. Three operands a pass, since memory access dominates. */
export function intersect(result: Bitset, base: Bitset, operands: readonly Operand[]): number {
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

/** For a base of few slots: checks them one by one, and reads no other words. */
export function intersectFew(result: Bitset, base: Posting, operands: readonly Operand[]): number {
  let count = base.copyTo(candidates)
  for (const operand of operands) count = keepThoseIn(operand, count)
  result.fill(0)
  for (let n = 0; n < count; n++) setBit(result, candidates[n]!)
  return count
}

/** Slots of the largest block. */
const MOST_SLOTS = 65_536
const candidates = new Uint16Array(MOST_SLOTS)

/** Moves matching candidates to the front. Branchless, because about half of them match. */
function keepThoseIn({ bits, flip, unless }: Operand, count: number): number {
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

function intersectThree(result: Bitset, base: Bitset, a: Operand, b: Operand, c: Operand): number {
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

function intersectLenient(
  result: Bitset,
  base: Bitset,
  a: Operand,
  b: Operand,
  c: Operand,
  unless: Bitset,
): number {
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
