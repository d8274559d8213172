import { type Bitset, bitset, setBit } from './bitset.ts'
import type { DocumentReader, RowValues } from './document-reader.ts'
import { comparePlaces, type IndexEntry, MAX_SEGMENT_ROWS, Segment, type SegmentData } from './segment.ts'
import { MAX_VALUES, mergeSegments, SegmentBuilder, type SegmentPlan, STEP } from './segment-builder.ts'
import { TextStore } from './text-store.ts'

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
const FAN_IN = 4
/** The tail is sealed earlier where its rows have many values. */
const MAX_TAIL_VALUES = 16_384
/** With so many beside full segments, merges go on whatever a turn takes. */
const MAX_SMALL_SEGMENTS = 32

/**
 * Sealed segments, in which deleted rows are dead, a tail of the latest rows, and the location of each listing.
 * A change does one step of a merge, a few in one turn, so segments never pile up and no turn takes long.
 */
export class Segments {
  readonly #plan: SegmentPlan
  readonly #reader: DocumentReader
  readonly #sizes: SegmentSizes
  readonly #texts = new TextStore()
  readonly #tail = new Map<string, TailRow>()
  #tailValues = 0
  /** The tail as it is, for queries; `null` until one asks. */
  #tailSegment: Segment | null = null
  /** The ones with the newest rows first. */
  #sealed: Segment[] = []
  /** Segment number and slot in one number: there is one for every listing. */
  readonly #locations = new Map<string, number>()
  readonly #byNumber = new Map<number, Segment>()
  #merge: Generator<number, void> | null = null
  #stepsInTurn = 0
  #isSettled = true

  /** @param reader of the plan's paths */
  constructor(plan: SegmentPlan, reader: DocumentReader, sizes: SegmentSizes) {
    this.#plan = plan
    this.#reader = reader
    this.#sizes = sizes
  }

  /** The rows of the tail, then the segments with the newest rows first. */
  get all(): readonly Segment[] {
    if (this.#tail.size === 0) return this.#sealed
    this.#tailSegment ??= new Segment(IN_TAIL, this.#buildTail())
    return [this.#tailSegment, ...this.#sealed]
  }

  get size(): number {
    return this.#locations.size
  }

  get ids(): Iterable<string> {
    return this.#locations.keys()
  }

  get(listingId: string): IndexEntry | undefined {
    const location = this.#locations.get(listingId)
    if (location === undefined) return undefined
    if (location === IN_TAIL) return this.#tail.get(listingId)!.entry
    const { segment, slot } = this.#resolve(location)
    return segment.entry(slot)
  }

  /** Rows of these ids. Reads of rows in the tail go over all of it. */
  slotsOf(listingIds: ReadonlySet<string>): Map<Segment, Bitset> {
    const slotsOf = new Map<Segment, Bitset>()
    const add = (segment: Segment, slot: number): void => {
      const slots = slotsOf.get(segment) ?? bitset(segment.size)
      setBit(slots, slot)
      slotsOf.set(segment, slots)
    }
    for (const listingId of listingIds) {
      const location = this.#locations.get(listingId)
      if (location === undefined || location === IN_TAIL) continue
      const { segment, slot } = this.#resolve(location)
      add(segment, slot)
    }
    const [tail] = this.all
    if (tail?.number === IN_TAIL)
      for (let slot = 0; slot < tail.size; slot++) if (listingIds.has(tail.listingIdOf(slot))) add(tail, slot)
    return slotsOf
  }

  /** @throws SyntaxError for some invalid JSON, before any change */
  put(entry: IndexEntry): void {
    const { count, paths, values, ...about } = this.#reader.read(entry.bytes)
    // The next listing overwrites them.
    const rowValues = { count, paths: paths.slice(0, count), values: values.slice(0, count), ...about }
    this.#delete(entry.listingId)
    const bytes = this.#texts.add(entry.bytes)
    this.#tail.set(entry.listingId, { entry: { ...entry, bytes }, rowValues })
    this.#tailValues += count
    this.#tailSegment = null
    this.#locations.set(entry.listingId, IN_TAIL)
    if (this.#tail.size >= this.#sizes.tail || this.#tailValues >= MAX_TAIL_VALUES) this.#seal()
    this.#mergeOn()
  }

  remove(listingId: string): boolean {
    if (!this.#delete(listingId)) return false
    this.#locations.delete(listingId)
    this.#mergeOn()
    return true
  }

  /** Adopts a segment in steps. */
  *adopt(data: SegmentData): Generator<void> {
    const segment = this.#append(data)
    for (const [slot, listingId] of data.listingIds.entries()) {
      if (slot % STEP === STEP - 1) yield
      this.#delete(listingId)
      this.#locate(listingId, segment, slot)
    }
  }

  #delete(listingId: string): boolean {
    const location = this.#locations.get(listingId)
    if (location === undefined) return false
    if (location === IN_TAIL) this.#removeFromTail(listingId)
    else {
      const { segment, slot } = this.#resolve(location)
      segment.delete(slot)
      if (segment.isWasteful) this.#isSettled = false
    }
    return true
  }

  #resolve(location: number): { segment: Segment; slot: number } {
    const slot = location % MAX_SEGMENT_ROWS
    return { segment: this.#byNumber.get((location - slot) / MAX_SEGMENT_ROWS)!, slot }
  }

  #locate(listingId: string, segment: Segment, slot: number): void {
    this.#locations.set(listingId, segment.number * MAX_SEGMENT_ROWS + slot)
  }

  #append(data: SegmentData): Segment {
    let number = 0
    while (this.#byNumber.has(number)) number++
    const segment = new Segment(number, data)
    this.#byNumber.set(number, segment)
    this.#sealed.push(segment)
    this.#sealed.sort((a, b) => b.newest - a.newest)
    this.#isSettled = false
    return segment
  }

  #removeFromTail(listingId: string): void {
    this.#tailValues -= this.#tail.get(listingId)!.rowValues.count
    this.#tail.delete(listingId)
    this.#tailSegment = null
  }

  #seal(): void {
    const segment = this.#append(this.#buildTail())
    for (let slot = 0; slot < segment.size; slot++) this.#locate(segment.listingIdOf(slot), segment, slot)
    this.#tail.clear()
    this.#tailValues = 0
    this.#tailSegment = null
  }

  #buildTail(): SegmentData {
    const builder = new SegmentBuilder({ ...this.#plan, rows: this.#tail.size }, this.#reader)
    const rows = [...this.#tail.values()].sort((a, b) => comparePlaces(a.entry, b.entry))
    for (const { entry, rowValues } of rows) builder.add(entry, entry.bytes, rowValues)
    return builder.build()
  }

  #mergeOn(): void {
    if (this.#isTurnSpent()) return
    if (this.#merge === null && !this.#isSettled) {
      const sources = segmentsToMerge(this.#sealed, this.#sizes)
      if (sources === null) this.#isSettled = true
      else this.#merge = this.#mergeAll(sources)
    }
    for (let work = 0; this.#merge !== null && work < this.#sizes.step; ) {
      const { done, value } = this.#merge.next()
      if (done === true) this.#merge = null
      else work += value
    }
  }

  /** Many changes may be made in one turn. */
  #isTurnSpent(): boolean {
    const { stepsPerTurn } = this.#sizes
    if (stepsPerTurn === undefined || this.#isSettled) return false
    if (this.#stepsInTurn === 0)
      setImmediate(() => {
        this.#stepsInTurn = 0
      })
    if (++this.#stepsInTurn <= stepsPerTurn) return false
    return this.#sealed.length < MAX_SMALL_SEGMENTS + this.size / this.#sizes.segment
  }

  /** Queries see the sources until all is built, and then the merged segment. */
  *#mergeAll(sources: readonly Segment[]): Generator<number, void> {
    const built = yield* mergeSegments(sources, this.#plan, this.#reader)
    this.#sealed = this.#sealed.filter((segment) => !sources.includes(segment))
    if (built !== null) {
      const merged = this.#append(built.data)
      // At once: some ms for the largest segment.
      for (const [n, { source, slot }] of built.rows.entries())
        if (source.isLive(slot)) this.#locate(merged.listingIdOf(n), merged, n)
        else merged.delete(n)
    }
    for (const { number } of sources) this.#byNumber.delete(number)
  }
}

export const IN_TAIL = -1

type TailRow = { entry: IndexEntry; rowValues: RowValues }

/** A wasteful segment, or several of similar size that fit one. */
function segmentsToMerge(segments: readonly Segment[], sizes: SegmentSizes): Segment[] | null {
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
