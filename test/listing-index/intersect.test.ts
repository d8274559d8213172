import test from 'ava'
import fc from 'fast-check'
import { bitset, forEachBit, setBit } from '../../src/listing-index/bitset.ts'
import { intersect, intersectFew } from '../../src/listing-index/intersect.ts'
import { Posting } from '../../src/listing-index/posting.ts'

const SLOTS = 96
const members = fc.uniqueArray(fc.nat(SLOTS - 1), { maxLength: SLOTS, size: 'max' })

function setOf(slots: readonly number[]) {
  const set = bitset(SLOTS)
  for (const slot of slots) setBit(set, slot)
  return set
}

function postingOf([first, ...rest]: readonly number[]): Posting {
  const posting = new Posting(SLOTS, first!)
  for (const slot of rest) posting.add(slot)
  return posting
}

const side = fc.record({ slots: members, flipped: fc.boolean(), unless: fc.option(members) })

test('an intersection is what all sides have, however many sides there are', (t) => {
  fc.assert(
    fc.property(members, fc.array(side, { maxLength: 8 }), (base, sides) => {
      const operands = sides.map(({ slots, flipped, unless }) => ({
        bits: setOf(slots),
        flip: flipped ? (-1 as const) : (0 as const),
        unless: unless === null ? null : setOf(unless),
      }))
      const expected = ascending(
        base.filter((slot) =>
          sides.every(
            ({ slots, flipped, unless }) =>
              slots.includes(slot) !== flipped || (unless !== null && !unless.includes(slot)),
          ),
        ),
      )
      const result = setOf([3, 50])
      t.is(intersect(result, setOf(base), operands), expected.length)
      t.deepEqual(membersOf(result), expected)
      if (base.length === 0) return
      const few = setOf([3, 50])
      t.is(intersectFew(few, postingOf(ascending(base)), operands), expected.length)
      t.deepEqual(membersOf(few), expected)
    }),
  )
})

const ascending = (slots: readonly number[]): number[] => slots.toSorted((a, b) => a - b)

function membersOf(set: Int32Array): number[] {
  const found: number[] = []
  forEachBit(set, (slot) => found.push(slot))
  return found
}
