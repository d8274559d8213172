import { type Bitset, onesIn, setBit } from './bitset.ts'
import { MAX_SEGMENT_ROWS } from './segment.ts'

/** One side of an intersection: `bits`, inverted where `flip` is -1. */
export type Operand = { bits: Bitset; flip: 0 | -1 }

/** Returns the count. `result` may be `base`. Three operands a pass, since memory access dominates. */
export function intersect(result: Bitset, base: Bitset, operands: readonly Operand[]): number {
  const all: Operand = { bits: base, flip: 0 }
  const [a = all, b = all, c = all, ...rest] = operands
  const count = intersectThree(result, base, a, b, c)
  return rest.length === 0 || count === 0 ? count : intersect(result, result, rest)
}

/** For a base of few slots: checks them one by one, and reads no other words. */
export function intersectFew(result: Bitset, base: Uint16Array, operands: readonly Operand[]): number {
  candidates.set(base)
  let count = base.length
  for (const operand of operands) count = keepThoseIn(operand, count)
  result.fill(0)
  for (let n = 0; n < count; n++) setBit(result, candidates[n]!)
  return count
}

const candidates = new Uint16Array(MAX_SEGMENT_ROWS)

/** Moves matching candidates to the front. Branchless, because about half of them match. */
function keepThoseIn({ bits, flip }: Operand, count: number): number {
  let kept = 0
  for (let n = 0; n < count; n++) {
    const slot = candidates[n]!
    candidates[kept] = slot
    kept += ((bits[slot >> 5]! ^ flip) >>> (slot & 31)) & 1
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
