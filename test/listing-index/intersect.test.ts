import test from 'ava'
import fc from 'fast-check'
import { bitset, hasBit, setBit } from '../../src/listing-index/bitset.ts'
import { intersect, intersectFew } from '../../src/listing-index/intersect.ts'

const SLOTS = 96
const members = fc.uniqueArray(fc.nat(SLOTS - 1), { maxLength: SLOTS, size: 'max' })

function setOf(slots: readonly number[]) {
  const set = bitset(SLOTS)
  for (const slot of slots) setBit(set, slot)
  return set
}

const side = fc.record({ slots: members, flipped: fc.boolean() })

test('an intersection is what all sides have, however many sides there are', (t) => {
  fc.assert(
    fc.property(members, fc.array(side, { maxLength: 8 }), (base, sides) => {
      const operands = sides.map(({ slots, flipped }) => ({
        bits: setOf(slots),
        flip: flipped ? (-1 as const) : (0 as const),
      }))
      const expected = ascending(
        base.filter((slot) => sides.every(({ slots, flipped }) => slots.includes(slot) !== flipped)),
      )
      const result = setOf([3, 50])
      t.is(intersect(result, setOf(base), operands), expected.length)
      t.deepEqual(membersOf(result), expected)
      const few = setOf([3, 50])
      t.is(intersectFew(few, Uint16Array.from(base), operands), expected.length)
      t.deepEqual(membersOf(few), expected)
    }),
  )
})

const ascending = (slots: readonly number[]): number[] => slots.toSorted((a, b) => a - b)

const membersOf = (set: Int32Array): number[] =>
  Array.from({ length: SLOTS }, (_, slot) => slot).filter((slot) => hasBit(set, slot))
