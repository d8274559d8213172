import type { DocumentReader } from './document-reader.ts'
import { newestFirst } from './newest-first.ts'
import type { Segment, SegmentData } from './segment.ts'
import { MAX_VALUES, SegmentBuilder, type SegmentPlan } from './segment-builder.ts'

export type SegmentSizes = {
  /** Rows with which the tail is sealed. */
  tail: number
  /** Most rows of a segment. */
  segment: number
  /** Values or rows per step of a merge. */
  step: number
  /** Most steps in one turn of the event loop. Default: one with each change. */
  stepsPerTurn?: number
}

/** So many segments of similar size are merged. */
const FAN_IN = 8

/** A wasteful segment, or several of similar size that fit one. */
export function segmentsToMerge(segments: readonly Segment[], sizes: SegmentSizes): Segment[] | null {
  const wasteful = segments.find((segment) => segment.isWasteful)
  if (wasteful !== undefined) return [wasteful]
  let least = 0
  for (let most = sizes.tail * FAN_IN; least < sizes.segment; most *= FAN_IN) {
    const similar = segments
      .filter(({ liveCount }) => liveCount >= least && liveCount < Math.min(most, sizes.segment))
      .sort((a, b) => a.liveCount - b.liveCount)
    const fitting = similar.slice(0, fitCount(similar, sizes.segment))
    if (similar.length >= FAN_IN && fitting.length > 1) return fitting
    least = most
  }
  return null
}

/** How many of them, at most `FAN_IN`, have no more than `most` live rows and `MAX_VALUES`. */
function fitCount(segments: readonly Segment[], most: number): number {
  let rows = 0
  let total = 0
  const tooMany = segments.findIndex(({ liveCount, values }, n) => {
    rows += liveCount
    total += values
    return n === FAN_IN || rows > most || total > MAX_VALUES
  })
  return tooMany === -1 ? segments.length : tooMany
}

type MergedRow = { rows: Segment; slot: number }

/**
 * Builds one segment of the live rows of several, in steps as `finish` of a builder; `null` without one. `from`: where its rows
 * are; some may have been deleted meanwhile.
 */
export function* mergeSegments(
  sources: readonly Segment[],
  plan: SegmentPlan,
  reader: DocumentReader,
): Generator<number, { data: SegmentData; from: readonly MergedRow[] } | null> {
  const from: MergedRow[] = []
  const live = sources.map((rows) => ({ rows, slots: rows.live, count: rows.liveCount }))
  for (const { rows, slot } of newestFirst(live)) {
    from.push({ rows, slot })
    yield 1
  }
  if (from.length === 0) return null
  const builder = new SegmentBuilder({ ...plan, rows: from.length }, reader)
  for (const { rows, slot } of from.reverse()) {
    const before = builder.values
    const row = rows.rowAt(slot)
    const source = rows.sourceOf(slot)
    builder.add(row, { source, ...(!rows.holdsDeadText && { text: row.bytes }) })
    yield 1 + builder.values - before
  }
  return { data: yield* builder.finish(), from }
}
