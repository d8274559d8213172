import type { PackedListings } from '../../domain/listing.ts'
import type { SegmentData } from '../../listing-index/segment.ts'
import { SegmentBuilder, type SegmentPlan } from '../../listing-index/segment-builder.ts'
import { PackedRows } from './packed-rows.ts'

export type SegmentSettings = {
  plan: SegmentPlan
  /** By publisher id. */
  storefronts: ReadonlyMap<number, string | null>
}

/** Expects listings oldest first, at most as many as the plan has rows. Returns the segment after steps of some ms. */
export function* buildSegment(
  { plan, storefronts }: SegmentSettings,
  pages: readonly PackedListings[],
): Generator<unknown, SegmentData> {
  const builder = new SegmentBuilder(plan)
  const rows = new PackedRows(storefronts)
  for (const [n, page] of pages.entries()) {
    if (n > 0) yield
    rows.forEach(page, (entry) => builder.add(entry))
  }
  return yield* builder.finish()
}

/** The memory of plain data, to be transferred to another thread. */
export function buffersIn(value: unknown): ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>()
  collectBuffers(value, buffers)
  return [...buffers]
}

function collectBuffers(value: unknown, buffers: Set<ArrayBuffer>): void {
  if (typeof value !== 'object' || value === null) return
  if (ArrayBuffer.isView(value)) buffers.add(value.buffer as ArrayBuffer)
  else if (!Array.isArray(value)) for (const member of Object.values(value)) collectBuffers(member, buffers)
  // Arrays are uniform, and those of plain values are long.
  else if (typeof value[0] === 'object') for (const element of value) collectBuffers(element, buffers)
}
