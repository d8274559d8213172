import { type Bitset, onesIn } from './bitset.ts'

/** A set, or with `flip` -1 all that is not in it. */
export type Operand = { bits: Bitset; flip: 0 | -1 }

/**
 * `result =` what is in `base` and in every operand; returns how many that are. Three operands a pass, with the count
 * in the same pass: reading and writing the words is what takes the time. `result` may be `base`.
 */
export const intersect = (result: Bitset, base: Bitset, operands: readonly Operand[]): number => {
  const all: Operand = { bits: base, flip: 0 }
  const [a = all, b = all, c = all, ...rest] = operands
  const count = intersectThree(result, base, a, b, c)
  return rest.length === 0 || count === 0 ? count : intersect(result, result, rest)
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
