import test from 'ava'
import fc from 'fast-check'
import { bitset, forEachBit } from '../../src/listing-index/bitset.ts'
import { Posting } from '../../src/listing-index/posting.ts'

const SLOTS = 1024
const ascendingSlots = fc
  .tuple(
    fc.uniqueArray(fc.nat(SLOTS - 1), { minLength: 1, maxLength: SLOTS }),
    fc.constantFrom(1, 3, 20, SLOTS),
  )
  .map(([slots, most]) => slots.slice(0, most).sort((a, b) => a - b))

function postingOf([first, ...rest]: readonly number[], slots = SLOTS): Posting {
  const posting = new Posting(slots, first!)
  for (const slot of rest) posting.add(slot)
  return posting
}

function collect(visitAll: (visit: (slot: number) => void) => void): number[] {
  const found: number[] = []
  visitAll((slot) => found.push(slot))
  return found
}

test('a posting holds the slots that came, in whatever form it keeps them', (t) => {
  fc.assert(
    fc.property(ascendingSlots, (slots) => {
      const posting = postingOf(slots)
      t.is(posting.count, slots.length)
      t.deepEqual(
        collect((visit) => posting.forEach(visit)),
        slots,
      )
      const added = bitset(SLOTS)
      posting.addTo(added)
      t.deepEqual(
        collect((visit) => forEachBit(added, visit)),
        slots,
      )
    }),
  )
})

test('a posting takes no memory for one slot, little for few, and never more than a bit per slot', (t) => {
  const sizes = [1, 4, 100, 600, 16_384].map((count) => {
    const slots = Array.from({ length: count }, (_, n) => n)
    return postingOf(slots, 16_384).byteLength
  })
  t.deepEqual(sizes, [0, 8, 256, 2048, 2048])
})
