import test from 'ava'
import fc from 'fast-check'
import type { Bound } from '../../src/filter-spec/criteria.ts'
import { passesTest } from '../../src/filter-spec/evaluate.ts'
import { bitset, forEachBit } from '../../src/listing-index/bitset.ts'
import { Column } from '../../src/listing-index/column.ts'

const SLOTS = 512

/** From few distinct numbers to all different, so that segments are cut in every way; doubles and bigints mixed. */
const number = (distinct: number): fc.Arbitrary<number | bigint> =>
  fc
    .nat(distinct)
    .map((n) => (n % 7 === 3 ? 2n ** 60n + BigInt(n) : n % 5 === 1 ? n / 4 : n % 5 === 2 ? -n : n))

const numbers = fc.constantFrom(3, 20, 100_000).chain((distinct) =>
  fc.tuple(
    fc.oneof(
      fc.array(
        number(distinct).map((one) => [one]),
        { minLength: 1, maxLength: SLOTS, size: 'max' },
      ),
      fc.array(fc.array(number(distinct), { maxLength: 3 }), { minLength: 1, maxLength: SLOTS, size: 'max' }),
    ),
    fc.array(
      fc.tuple(
        fc.option(fc.record({ value: number(distinct), inclusive: fc.boolean() })),
        fc.option(fc.record({ value: number(distinct), inclusive: fc.boolean() })),
      ),
      { minLength: 20, maxLength: 20 },
    ),
  ),
)

test('an interval holds the slots of which some number lies in it', (t) => {
  fc.assert(
    fc.property(numbers, ([listings, intervals]) => {
      const column = new Column(SLOTS)
      for (const [slot, values] of listings.entries()) {
        for (const value of values) column.add(slot, value)
      }
      const copy = new Column(SLOTS)
      // Backwards, and a few are left behind.
      const places = Int32Array.from({ length: SLOTS }, (_, slot) => (slot % 9 === 8 ? -1 : SLOTS - 1 - slot))
      column.copyTo(copy, places)
      for (const [low, high] of intervals) {
        const expected = listings.flatMap((values, slot) =>
          passesTest({ op: 'range', low, high }, values) ? [slot] : [],
        )
        t.deepEqual(within(column, low, high), expected)
        const moved = expected.map((slot) => places[slot]!).filter((place) => place >= 0)
        t.deepEqual(within(copy, low, high), moved.reverse())
      }
    }),
    { numRuns: 100 },
  )
})

function within({ ranges }: Column, low: Bound | null, high: Bound | null): number[] {
  const found: number[] = []
  const set = ranges?.within(low, high, bitset(SLOTS)) ?? bitset(SLOTS)
  forEachBit(set, (slot) => found.push(slot))
  return found
}
