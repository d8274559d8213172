import test from 'ava'
import fc from 'fast-check'
import { bitset, forEachBit, setBit } from '../../src/listing-index/bitset.ts'
import { intersect } from '../../src/listing-index/intersect.ts'

const SLOTS = 96
const members = fc.uniqueArray(fc.nat(SLOTS - 1), { maxLength: SLOTS, size: 'max' })

const setOf = (slots: readonly number[]) => {
  const set = bitset(SLOTS)
  for (const slot of slots) setBit(set, slot)
  return set
}

test('an intersection is what all sides have, however many sides there are', (t) => {
  fc.assert(
    fc.property(members, fc.array(fc.tuple(members, fc.boolean()), { maxLength: 8 }), (base, sides) => {
      const result = setOf([3, 50])
      const operands = sides.map(([slots, flipped]) => ({
        bits: setOf(slots),
        flip: flipped ? (-1 as const) : (0 as const),
      }))
      const count = intersect(result, setOf(base), operands)
      const expected = base.filter((slot) =>
        sides.every(([slots, flipped]) => slots.includes(slot) !== flipped),
      )
      const found: number[] = []
      forEachBit(result, (slot) => found.push(slot))
      t.deepEqual(
        found,
        expected.sort((a, b) => a - b),
      )
      t.is(count, expected.length)
    }),
  )
})
