import test from 'ava'
import fc from 'fast-check'
import {
  beforePlace,
  comparePositions,
  isAfter,
  type MergedPosition,
  positionIn,
} from '../../../../src/domain/source/position.ts'

const merged: fc.Arbitrary<MergedPosition> = fc.record({
  position: fc.integer({ min: 0, max: 3 }),
  rank: fc.nat(2),
  listingId: fc.constantFrom('a', 'a\n0x1', 'a\n0x2', 'ab', 'b', 'é'),
})

test('positions: their order is by price, time, rank and row', (t) => {
  const inOrder = [
    { group: 0, key: 1, position: 5, listingId: 'b' },
    { group: 0, key: 2n ** 70n, position: 9, listingId: 'a' },
    { group: 1, key: 0, position: 9, rank: 0, listingId: 'b' },
    { group: 1, key: 0, position: 9, rank: 1, listingId: 'a' },
    { group: 1, key: 0, position: 9, rank: 1, listingId: 'a\n0x1' },
    { group: 1, key: 0, position: 9, rank: 1, listingId: null },
    { group: 1, key: 0, position: 8, rank: 0, listingId: 'a' },
  ]
  for (const [n, a] of inOrder.entries())
    for (const [m, b] of inOrder.entries())
      t.is(Math.sign(comparePositions(a, b)), Math.sign(n - m), `${n} ${m}`)
})

test('positions: a source goes on behind exactly what a merge has passed of it', (t) => {
  fc.assert(
    fc.property(merged, merged, (one, last) => {
      const start = positionIn(one.rank, last)
      const { rank: _, ...inSource } = one
      t.is(isAfter(inSource, start), comparePositions(one, last) > 0)
      t.true(isAfter(one, null))
      t.true(isAfter(one, beforePlace(one)))
    }),
    { includeErrorInReport: true },
  )
})
