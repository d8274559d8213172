/** Signed words: JavaScript's bit operations give signed 32-bit integers. Operands are equally long. */
export type Bitset = Int32Array

export const bitset = (slots: number): Bitset => new Int32Array(Math.ceil(slots / 32))

export const hasBit = (set: Bitset, slot: number): boolean => ((set[slot >> 5]! >>> (slot & 31)) & 1) === 1

export function setBit(set: Bitset, slot: number): void {
  set[slot >> 5]! |= 1 << (slot & 31)
}

export function clearBit(set: Bitset, slot: number): void {
  set[slot >> 5]! &= ~(1 << (slot & 31))
}

// A length read once, and no compound assignment, make loops over words two to four times as fast.

/** `target ∪= other`, whose words begin at `start`. */
export function addAll(target: Bitset, other: Bitset, start = 0): void {
  const words = target.length
  for (let n = 0; n < words; n++) target[n] = target[n]! | other[start + n]!
}

/** `target ∪= other ∖ except` */
export function addAllExcept(target: Bitset, other: Bitset, except: Bitset): void {
  const words = target.length
  for (let n = 0; n < words; n++) target[n] = target[n]! | (other[n]! & ~except[n]!)
}

/** `a ∖ b` */
export function difference(a: Bitset, b: Bitset): Bitset {
  const words = a.length
  const difference = new Int32Array(words)
  for (let n = 0; n < words; n++) difference[n] = a[n]! & ~b[n]!
  return difference
}

/** The highest slot below `end`, or -1. */
export function highestBelow(set: Bitset, end: number): number {
  if (end <= 0) return -1
  let n = (end - 1) >> 5
  let word = set[n]! & bitsBelow(end)
  while (word === 0) {
    if (n === 0) return -1
    word = set[--n]!
  }
  return n * 32 + 31 - Math.clz32(word)
}

export function forEachBit(set: Bitset, visit: (slot: number) => void): void {
  for (let n = 0; n < set.length; n++)
    for (let word = set[n]!; word !== 0; word &= word - 1) visit(n * 32 + 31 - Math.clz32(word & -word))
}

/** From the highest on. */
export function* slotsIn(set: Bitset): Generator<number> {
  const { length } = set
  for (let slot = highestBelow(set, length * 32); slot !== -1; slot = highestBelow(set, slot)) yield slot
}

/** Slots in `[from, to)`. */
export function countBetween(set: Bitset, from: number, to: number): number {
  if (from >= to) return 0
  const first = from >> 5
  const last = (to - 1) >> 5
  const isFrom = -1 << (from & 31)
  if (first === last) return onesIn(set[first]! & isFrom & bitsBelow(to))
  let count = onesIn(set[first]! & isFrom) + onesIn(set[last]! & bitsBelow(to))
  for (let n = first + 1; n < last; n++) count += onesIn(set[n]!)
  return count
}

export function countOf(set: Bitset): number {
  return countCommon(set, set)
}

/** Four words at once, whose bits are added with carries. A test whether a word is zero would be guessed wrong too often. */
export function countCommon(a: Bitset, b: Bitset): number {
  const words = a.length
  let [count, ones, twos, n] = [0, 0, 0, 0]
  for (; n + 3 < words; n += 4) {
    const [first, second] = [a[n]! & b[n]!, a[n + 1]! & b[n + 1]!]
    const [third, fourth] = [a[n + 2]! & b[n + 2]!, a[n + 3]! & b[n + 3]!]
    const half = ones ^ first
    const carry = (ones & first) | (half & second)
    const other = half ^ second ^ third
    const otherCarry = ((half ^ second) & third) | (other & fourth)
    ones = other ^ fourth
    count += onesIn((twos & carry) | ((twos ^ carry) & otherCarry))
    twos ^= carry ^ otherCarry
  }
  count = 4 * count + 2 * onesIn(twos) + onesIn(ones)
  for (; n < words; n++) count += onesIn(a[n]! & b[n]!)
  return count
}

/** How many of the slots at `[from, to)` are in the set. Without branches: which ones is hard to predict. */
export function countIn(set: Bitset, slots: Uint16Array, from: number, to: number): number {
  let count = 0
  for (let at = from; at < to; at++) {
    const slot = slots[at]!
    count += (set[slot >> 5]! >>> (slot & 31)) & 1
  }
  return count
}

export function onesIn(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555)
  const nibbles = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333)
  return Math.imul((nibbles + (nibbles >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}

/** The bits of the last word of `[0, end)`, for a positive `end`. */
const bitsBelow = (end: number): number => -1 >>> (31 - ((end - 1) & 31))
