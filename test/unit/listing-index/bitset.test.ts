import test from 'ava'
import fc from 'fast-check'
import {
  addAll,
  addAllExcept,
  bitset,
  clearBit,
  countBetween,
  countCommon,
  hasBit,
  highestBelow,
  onesIn,
  setBit,
} from '../../../src/listing-index/bitset.ts'

const SLOTS = 160
const members = fc.uniqueArray(fc.nat(SLOTS - 1), { maxLength: SLOTS })

function setOf(slots: Iterable<number>) {
  const set = bitset(SLOTS)
  for (const slot of slots) setBit(set, slot)
  return set
}

const ascending = (slots: Iterable<number>): number[] => [...slots].sort((a, b) => a - b)

test('bitset: unions and differences are those of sets', (t) => {
  fc.assert(
    fc.property(members, members, members, (first, second, third) => {
      const [a, b, c] = [new Set(first), new Set(second), new Set(third)]
      const after = (operation: (target: Int32Array, b: Int32Array, c: Int32Array) => void) => {
        const target = setOf(a)
        operation(target, setOf(b), setOf(c))
        const found = descending(target, SLOTS).reverse()
        t.is(
          target.reduce((sum, word) => sum + onesIn(word), 0),
          found.length,
        )
        return found
      }
      t.deepEqual(
        after((target, other) => addAll(target, other)),
        ascending(a.union(b)),
      )
      t.deepEqual(
        after((target, other, before) => addAll(target, Int32Array.of(...before, ...other), before.length)),
        ascending(a.union(b)),
      )
      t.deepEqual(after(addAllExcept), ascending(a.union(b.difference(c))))
    }),
  )
})

function descending(set: Int32Array, end: number): number[] {
  const found: number[] = []
  for (let slot = highestBelow(set, end); slot !== -1; slot = highestBelow(set, slot)) found.push(slot)
  return found
}

test('bitset: members of a part are found from the highest on, and counted', (t) => {
  fc.assert(
    fc.property(members, fc.nat(SLOTS), fc.nat(SLOTS), (slots, from, to) => {
      const set = setOf(slots)
      const below = ascending(slots.filter((slot) => slot < to))
      t.deepEqual(descending(set, to).reverse(), below)
      t.is(countBetween(set, from, to), below.filter((slot) => slot >= from).length)
    }),
  )
})

test('bitset: common members are counted, however many words there are', (t) => {
  fc.assert(
    fc.property(members, members, fc.nat(SLOTS / 32), (first, second, words) => {
      const [a, b] = [setOf(first), setOf(second)].map((set) => set.subarray(0, words))
      const common = first.filter((slot) => slot < words * 32 && second.includes(slot))
      t.is(countCommon(a!, b!), common.length)
    }),
  )
})

test('bitset: clearing a member removes that one only', (t) => {
  const set = setOf([0, 31, 32, 159])
  clearBit(set, 31)
  t.deepEqual(
    [0, 31, 32, 33, 159].map((slot) => hasBit(set, slot)),
    [true, false, true, false, true],
  )
})
