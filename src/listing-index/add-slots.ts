import { type Bitset, bitset, setBit } from './bitset.ts'
import { isDense, Posting } from './posting.ts'
import type { SlotLog } from './slot-log.ts'

/**
 * Adds what a log says to the postings of the values with those numbers. Numbers that have no posting yet follow on
 * those that have, and first appear in their order.
 *
 * @param slots size of the block
 */
export const addOneByOne = (postings: Posting[], log: SlotLog, slots: number): void => {
  log.forEach((number, slot) => {
    if (number < postings.length) postings[number]!.add(slot)
    else postings.push(new Posting(slots, slot))
  })
}

/**
 * The same for a long log: each new posting is made in one go, as large as it has to be, and all their lists are parts
 * of a single one.
 *
 * @param numbers how many of them there are, old and new
 */
export const addSorted = (postings: Posting[], log: SlotLog, slots: number, numbers: number): void => {
  const first = postings.length
  const counts = countByNumber(log, numbers)
  const sets = counts
    .subarray(first)
    .reduce<Map<number, Bitset>>(
      (dense, count, n) => (isDense(count, slots) ? dense.set(first + n, bitset(slots)) : dense),
      new Map(),
    )
  // Where each one's next slot goes in the list.
  const places = new Int32Array(numbers)
  let room = 0
  for (let number = first; number < numbers; number++) {
    places[number] = sets.has(number) ? IN_SET : room
    if (!sets.has(number)) room += counts[number]!
  }
  const list = new Uint16Array(room)
  log.forEach((number, slot) => {
    const place = places[number]!
    if (number < first) postings[number]!.add(slot)
    else if (place === IN_SET) setBit(sets.get(number)!, slot)
    else {
      list[place] = slot
      places[number] = place + 1
    }
  })
  for (let number = first; number < numbers; number++) {
    const count = counts[number]!
    const set = sets.get(number)
    postings.push(
      set === undefined
        ? Posting.ofList(slots, list, places[number]! - count, count)
        : Posting.ofBits(slots, set, count),
    )
  }
}

const IN_SET = -1

const countByNumber = (log: SlotLog, numbers: number): Uint32Array => {
  const counts = new Uint32Array(numbers)
  log.forEach((number) => {
    counts[number]!++
  })
  return counts
}
