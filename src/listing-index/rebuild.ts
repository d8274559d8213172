import { hasBit } from './bitset.ts'
import type { Block } from './block.ts'

/** About 20 ms for 32,768 listings of 1 KB. `slots`: live, oldest first, newer than all in `target`. */
export function copySlots(source: Block, slots: readonly number[], target: Block): void {
  const places = new Int32Array(source.slots).fill(-1)
  for (const slot of slots) places[slot] = target.adopt(source.entry(slot))
  source.publishers.forEachMoved(places, (publisherId, place) => {
    target.publishers.add(publisherId, place)
  })
  source.columns.forEach((column, n) => {
    column.copyTo(target.columns[n]!, places)
  })
}

/** Oldest first. */
export const liveSlots = (block: Block): number[] =>
  block.order.oldestFirst().filter((slot) => hasBit(block.live, slot))
