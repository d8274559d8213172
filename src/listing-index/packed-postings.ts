import type { Bitset } from './bitset.ts'
import { isDense, Posting } from './posting.ts'

/** Dense values as sets, others as lists: one object per value would take most of the index's memory. */
export type PackedPostings = {
  counts: Uint32Array
  /** In `sets` or in `lists`. */
  starts: Uint32Array
  lists: Uint16Array
  sets: Bitset
}

type ForEachPair = (visit: (number: number, slot: number) => void) => void

/** @param forEachPair visits each value's number with each of its slots once */
export function packPostings(slots: number, numbers: number, forEachPair: ForEachPair): PackedPostings {
  const counts = countSlots(numbers, forEachPair)
  const starts = new Uint32Array(numbers)
  let words = 0
  let room = 0
  for (let number = 0; number < numbers; number++) {
    const count = counts[number]!
    if (isDense(count, slots)) {
      starts[number] = words
      words += wordsOf(slots)
    } else {
      starts[number] = room
      room += count
    }
  }
  const lists = new Uint16Array(room)
  const sets = new Int32Array(words)
  const nexts = starts.slice()
  forEachPair((number, slot) => {
    if (isDense(counts[number]!, slots)) sets[starts[number]! + (slot >> 5)]! |= 1 << (slot & 31)
    else lists[nexts[number]!++] = slot
  })
  return { counts, starts, lists, sets }
}

/** Additions to it do not reach the packed data. */
export function postingIn(
  { counts, starts, lists, sets }: PackedPostings,
  number: number,
  slots: number,
): Posting {
  const count = counts[number]!
  const start = starts[number]!
  return isDense(count, slots)
    ? Posting.ofBits(slots, sets.subarray(start, start + wordsOf(slots)), count)
    : Posting.ofList(slots, lists, start, count)
}

function countSlots(numbers: number, forEachPair: ForEachPair): Uint32Array {
  const counts = new Uint32Array(numbers)
  forEachPair((number) => {
    counts[number]!++
  })
  return counts
}

const wordsOf = (slots: number): number => Math.ceil(slots / 32)
