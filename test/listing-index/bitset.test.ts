import test from 'ava'
import fc from 'fast-check'
import {
  addAll,
  addAllExcept,
  bitset,
  clearBit,
  forEachBit,
  hasBit,
  highestBits,
  onesIn,
  setBit,
} from '../../src/listing-index/bitset.ts'

const SLOTS = 160
const members = fc.uniqueArray(fc.nat(SLOTS - 1), { maxLength: SLOTS })

function setOf(slots: Iterable<number>) {
  const set = bitset(SLOTS)
  for (const slot of slots) setBit(set, slot)
  return set
}

const ascending = (slots: Iterable<number>): number[] => [...slots].sort((a, b) => a - b)

test('a bitset is a set of slots', (t) => {
  fc.assert(
    fc.property(members, members, members, (first, second, third) => {
      const [a, b, c] = [new Set(first), new Set(second), new Set(third)]
      const after = (operation: (target: Int32Array, b: Int32Array, c: Int32Array) => void) => {
        const target = setOf(a)
        operation(target, setOf(b), setOf(c))
        const found: number[] = []
        forEachBit(target, (slot) => found.push(slot))
        t.is(
          target.reduce((sum, word) => sum + onesIn(word), 0),
          found.length,
        )
        return found
      }
      t.deepEqual(after(addAll), ascending(a.union(b)))
      t.deepEqual(after(addAllExcept), ascending(a.union(b.difference(c))))
    }),
  )
})

test('members come from the highest, less those skipped, as many as are wanted', (t) => {
  fc.assert(
    fc.property(members, fc.nat(SLOTS), fc.nat(SLOTS), (slots, skip, take) => {
      const expected = ascending(slots)
        .reverse()
        .slice(skip, skip + take)
      t.deepEqual(highestBits(setOf(slots), skip, take), expected)
    }),
  )
})

test('a member that is cleared is gone, and no other', (t) => {
  const set = setOf([0, 31, 32, 159])
  clearBit(set, 31)
  t.deepEqual(
    [0, 31, 32, 33, 159].map((slot) => hasBit(set, slot)),
    [true, false, true, false, true],
  )
})
