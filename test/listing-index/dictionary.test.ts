import test from 'ava'
import fc from 'fast-check'
import { bitset, forEachBit } from '../../src/listing-index/bitset.ts'
import { Dictionary } from '../../src/listing-index/dictionary.ts'
import type { Posting } from '../../src/listing-index/posting.ts'

const SLOTS = 4096

/** Values of slots 0, 1, 2 …: from all the same to all different, and how many slots come between two looks. */
const additions = fc.tuple(
  fc.array(fc.array(fc.nat(5000), { maxLength: 3 }), { minLength: 1, maxLength: 1500, size: 'max' }),
  fc.constantFrom(1, 40, 5000),
  fc.constantFrom(7, 300, 1000, SLOTS),
)

test('a dictionary knows the slots of every value, whenever it is asked', (t) => {
  fc.assert(
    fc.property(additions, ([listings, distinct, between]) => {
      const dictionary = new Dictionary(SLOTS)
      const expected = new Map<number, number[]>()
      for (const [slot, values] of listings.entries()) {
        for (const drawn of values) {
          const value = drawn % distinct
          const known = expected.get(value)?.at(-1) === slot
          t.is(dictionary.add(value, slot), !known)
          if (!known) expected.set(value, [...(expected.get(value) ?? []), slot])
        }
        if (slot % between === between - 1) t.deepEqual(contents(dictionary), expected)
      }
      t.deepEqual(contents(dictionary), expected)
      t.is(dictionary.get(distinct), undefined)
      const wanted = new Set([0, 1, distinct])
      t.is(dictionary.among(wanted).length, [...wanted].filter((value) => expected.has(value)).length)
    }),
    { numRuns: 40 },
  )
})

const contents = (dictionary: Dictionary): Map<unknown, number[]> =>
  new Map(Array.from(dictionary.entries(), ([value, posting]) => [value, slotsOf(posting)]))

function slotsOf(posting: Posting): number[] {
  const set = bitset(SLOTS)
  posting.addTo(set)
  const added: number[] = []
  forEachBit(set, (slot) => added.push(slot))
  const visited: number[] = []
  posting.forEach((slot) => {
    visited.push(slot)
  })
  return visited.length === posting.count && String(visited) === String(added) ? visited : []
}
