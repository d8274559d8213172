import { renderListing } from '../../domain/listing.ts'
import { listingFrom } from '../../domain/listing-row.ts'
import type { PathStep } from '../../filter-spec/path.ts'
import type { SegmentData } from '../../listing-index/segment.ts'
import { SegmentBuilder, type SegmentPlan, segmentPlan } from '../../listing-index/segment-builder.ts'
import type { Row } from '../../store/rows.ts'
import type { Tables } from '../../vocabulary/meaning.ts'
import { Vocabulary } from '../../vocabulary/vocabulary.ts'

export type SegmentSettings = {
  plan: SegmentPlan
  /** By publisher id. */
  storefronts: ReadonlyMap<number, string | null>
}

/** The same as plain data: a derived path without its function, which is made of the tables again. */
export type ThreadSettings = {
  paths: readonly (readonly object[])[]
  rows: number
  tables: Tables
  storefronts: SegmentSettings['storefronts']
}

export function settingsForThread({ plan, storefronts }: SegmentSettings, tables: Tables): ThreadSettings {
  const withoutFunctions = (step: PathStep): object =>
    step.kind === 'derived' ? { ...step, valueIn: null } : step
  return { paths: plan.paths.map((path) => path.map(withoutFunctions)), rows: plan.rows, tables, storefronts }
}

export function settingsInThread({ paths, rows, tables, storefronts }: ThreadSettings): SegmentSettings {
  const { valueIn } = new Vocabulary(tables)
  const withFunctions = (step: object): PathStep => ({
    ...(step as PathStep),
    ...('field' in step && { valueIn }),
  })
  return {
    plan: segmentPlan(
      paths.map((path) => path.map(withFunctions)),
      rows,
    ),
    storefronts,
  }
}

/** Expects at most as many listings as the plan has rows, in any order. Returns the segment after steps of some ms. */
export function* buildSegment(
  { plan, storefronts }: SegmentSettings,
  rows: readonly Row[],
): Generator<unknown, SegmentData> {
  const builder = new SegmentBuilder(plan)
  for (const row of rows.toSorted((one, other) => one.createdAt - other.createdAt)) {
    const record = listingFrom(row)
    const { listingId: key, publisherId: seller, status, createdAt: position } = record
    const bytes = Buffer.from(renderListing(record, storefronts.get(seller) ?? null))
    builder.add({ key, seller, status, position, bytes })
    if (builder.size % ROWS_PER_STEP === 0) yield
  }
  return yield* builder.finish()
}

/** About 3 ms. */
const ROWS_PER_STEP = 250

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
