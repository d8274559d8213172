import { listingIdOf, type Row } from './copy.ts'
import { DocumentReader } from './document-reader.ts'
import { Groups } from './groups.ts'
import { mergeSegments, type SegmentSizes, segmentsToMerge } from './merge-segments.ts'
import { MAX_SEGMENT_ROWS, type RowPlace, Segment, type SegmentData, type SegmentOptions } from './segment.ts'
import { type SegmentPlan, STEP } from './segment-builder.ts'
import { Tail } from './tail.ts'
import { TextStore } from './text-store.ts'

/** What follows rows, in the turn of each change. */
export type RowListener = {
  /** Before rows of these listings change. */
  changing: (listingIds: readonly string[]) => void
  came: (row: RowPlace) => void
  /** Before the row goes. */
  leaves: (row: RowPlace) => void
  /** After rows of these listings have changed. `rows`: those that came. */
  changed: (listingIds: readonly string[], rows: readonly RowPlace[]) => void
  /** The segment has the rows of `from`, each at the place of its number. */
  moved: (segment: Segment, from: readonly RowPlace[]) => void
}

/** The tail is sealed earlier where its rows have many values. */
const MAX_TAIL_VALUES = 16_384
/** With so many beside full segments, merges go on whatever a turn takes. */
const MAX_SMALL_SEGMENTS = 32

type SegmentsOptions = {
  plan: SegmentPlan
  sizes: SegmentSizes
  sourceNameOf: (lane: number) => string | undefined
  listener: RowListener
}

/**
 * Sealed segments, in which deleted rows are dead, a tail of the latest rows, and the locations of the rows of each listing.
 * A change does one step of a merge, a few in one turn, so segments never pile up and no turn takes long.
 */
export class Segments {
  readonly #options: SegmentsOptions
  readonly #sizes: SegmentSizes
  readonly #texts = new TextStore()
  readonly #groups = new Groups()
  #plan: SegmentPlan
  #reader: DocumentReader
  #tail: Tail
  /** The ones with the newest rows first. */
  #sealed: Segment[] = []
  /** Rows of these are still to be located. */
  readonly #adopted = new Set<Segment>()
  readonly #byNumber = new Map<number, Segment>()
  #merge: Generator<number, void> | null = null
  #stepsInTurn = 0
  #isSettled = true

  constructor(options: SegmentsOptions) {
    this.#options = options
    this.#sizes = options.sizes
    this.#plan = options.plan
    this.#reader = new DocumentReader(this.#plan.paths)
    this.#tail = this.#newTail()
  }

  get plan(): SegmentPlan {
    return this.#plan
  }

  /** The rows of the tail, then the segments with the newest rows first. */
  get all(): readonly Segment[] {
    const inTail = this.#tail.segments
    return inTail.length === 0 ? this.#sealed : [...inTail, ...this.#sealed]
  }

  get tail(): Tail {
    return this.#tail
  }

  /** Rows. */
  get size(): number {
    return this.#groups.size
  }

  /** As of `Groups`. */
  listingIds(which?: { areShared: boolean }): Generator<string> {
    return this.#groups.listingIds(which)
  }

  rowsOf(listingId: string): readonly RowPlace[] {
    return this.#groups.of(listingId).map((location) => this.#resolve(location))
  }

  /** The row of an id that has no other. */
  onlyRowOf(listingId: string): RowPlace | undefined {
    const location = this.#groups.only(listingId)
    return location === undefined ? undefined : this.#resolve(location)
  }

  /** The row of that key in one of the lanes. */
  find(key: string, lanes: readonly number[]): RowPlace | undefined {
    const locations = this.#groups.of(listingIdOf(key))
    for (const location of locations) {
      const row = this.#resolve(location)
      if (lanes.includes(row.rows.laneOf(row.slot)) && row.rows.keyOf(row.slot) === key) return row
    }
    return undefined
  }

  /**
   * Inserts the row, or replaces the one of its key in one of the source's lanes. @throws SyntaxError for some invalid
   * JSON, before any change
   */
  put(row: Row, lane: number, ofSource: readonly number[]): void {
    const { listener } = this.#options
    const values = this.#reader.read(row.bytes, this.#options.sourceNameOf(lane))
    const listingId = listingIdOf(row.key)
    listener.changing([listingId])
    this.#deleteKey(row.key, ofSource)
    const slot = this.#tail.add(row, lane, values)
    this.#groups.add(listingId, inTail(slot))
    const place = { rows: this.#tail, slot }
    listener.came(place)
    listener.changed([listingId], [place])
    if (this.#tail.isFull || this.#tail.values >= MAX_TAIL_VALUES) this.#seal()
    this.#mergeOn()
  }

  remove(key: string, ofSource: readonly number[]): boolean {
    const { listener } = this.#options
    if (this.find(key, ofSource) === undefined) return false
    const listingIds = [listingIdOf(key)]
    listener.changing(listingIds)
    this.#deleteKey(key, ofSource)
    listener.changed(listingIds, [])
    this.#mergeOn()
    return true
  }

  /** Adopts a segment of one source in steps, each of which brings some rows. @param lanes of its rows */
  *adopt(
    data: SegmentData,
    lanes: Uint16Array,
    ofSource: readonly number[],
    plan: SegmentPlan,
  ): Generator<void> {
    const { listener } = this.#options
    const sourceNames = this.#sourceNames(lanes)
    const segment = this.#append(data, { plan, lanes, sourceNames, isEmpty: true })
    this.#adopted.add(segment)
    for (let from = 0; from < segment.size; from += STEP) {
      if (from > 0) yield
      const rows: RowPlace[] = []
      for (let slot = from; slot < Math.min(from + STEP, segment.size); slot++)
        rows.push({ rows: segment, slot })
      const listingIds = rows.map(({ slot }) => listingIdOf(segment.keyOf(slot)))
      listener.changing(listingIds)
      for (const [n, row] of rows.entries()) {
        this.#deleteKey(segment.keyOf(row.slot), ofSource)
        this.#groups.add(listingIds[n]!, locationIn(segment, row.slot))
        segment.revive(row.slot)
        listener.came(row)
      }
      // A key may come twice.
      listener.changed(
        listingIds,
        rows.filter(({ slot }) => segment.isLive(slot)),
      )
      this.#mergeOn(rows.length)
    }
    this.#adopted.delete(segment)
    this.#isSettled = false
    this.#mergeOn()
  }

  /** Removes the rows of these lanes in steps. */
  *removeAll(ofSource: readonly number[]): Generator<void> {
    const { listener } = this.#options
    for (const segment of [...this.all]) {
      const { lanes, size } = segment
      for (let from = 0; from < size; from += STEP) {
        const keys: string[] = []
        for (let slot = from; slot < Math.min(from + STEP, size); slot++)
          if (ofSource.includes(lanes[slot]!) && segment.isLive(slot)) keys.push(segment.keyOf(slot))
        if (keys.length === 0) continue
        const listingIds = keys.map(listingIdOf)
        listener.changing(listingIds)
        for (const key of keys) this.#deleteKey(key, ofSource)
        listener.changed(listingIds, [])
        yield
      }
    }
    this.#mergeOn()
  }

  /** Builds segments from now on with these paths. */
  replan(plan: SegmentPlan): void {
    if (this.#tail.slots.length > 0) this.#seal()
    this.#plan = plan
    this.#reader = new DocumentReader(plan.paths)
    this.#tail = this.#newTail()
    this.#isSettled = false
  }

  /** Builds the segments of earlier plans again, in steps. */
  *rebuild(): Generator<void> {
    while (this.#outdated() !== undefined) {
      this.#mergeStep()
      yield
    }
  }

  #outdated(): Segment | undefined {
    return this.#sealed.find((one) => !one.isBuiltWith(this.#plan.columns) && !this.#adopted.has(one))
  }

  #newTail(): Tail {
    const { sourceNameOf, sizes } = this.#options
    return new Tail(sizes.tail, { plan: this.#plan, reader: this.#reader, texts: this.#texts, sourceNameOf })
  }

  #sourceNames(lanes: Iterable<number>): ReadonlyMap<number, string | undefined> {
    return new Map(new Set(lanes).values().map((lane) => [lane, this.#options.sourceNameOf(lane)]))
  }

  #deleteKey(key: string, ofSource: readonly number[]): void {
    const row = this.find(key, ofSource)
    if (row === undefined) return
    const { rows, slot } = row
    this.#options.listener.leaves(row)
    this.#groups.remove(listingIdOf(key), rows instanceof Segment ? locationIn(rows, slot) : inTail(slot))
    if (rows instanceof Tail) rows.delete(slot)
    else if (rows instanceof Segment) {
      rows.delete(slot)
      if (rows.isWasteful) this.#isSettled = false
    }
  }

  #resolve(location: number): RowPlace {
    if (location < 0) return { rows: this.#tail, slot: -1 - location }
    const slot = location % MAX_SEGMENT_ROWS
    return { rows: this.#byNumber.get((location - slot) / MAX_SEGMENT_ROWS)!, slot }
  }

  #append(data: SegmentData, { plan = this.#plan, ...options }: AppendOptions): Segment {
    let number = 0
    while (this.#byNumber.has(number)) number++
    const segment = new Segment(number, data, { columns: plan.columns, ...options })
    this.#byNumber.set(number, segment)
    this.#sealed.push(segment)
    this.#sealed.sort((a, b) => b.newest - a.newest)
    this.#isSettled = false
    return segment
  }

  #seal(): void {
    const tail = this.#tail
    const { data, lanes, slots } = tail.seal()
    this.#tail = this.#newTail()
    const segment = this.#append(data, { lanes, sourceNames: this.#sourceNames(lanes) })
    for (const [n, slot] of slots.entries())
      this.#groups.move(listingIdOf(segment.keyOf(n)), inTail(slot), locationIn(segment, n))
    this.#options.listener.moved(
      segment,
      slots.map((slot) => ({ rows: tail, slot })),
    )
  }

  /** After so many rows have come. */
  #mergeOn(rows = 1): void {
    for (let n = 0; n < rows && !this.#isSettled && !this.#isTurnSpent(); n++) this.#mergeStep()
  }

  #mergeStep(): void {
    if (this.#merge === null && !this.#isSettled) {
      const candidates = this.#sealed.filter((segment) => !this.#adopted.has(segment))
      const outdated = this.#outdated()
      const sources = segmentsToMerge(candidates, this.#sizes) ?? (outdated && [outdated]) ?? null
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
    const plan = this.#plan
    // A source may be removed meanwhile.
    const sourceNames = this.#sourceNames(sources.flatMap(({ countByLane }) => [...countByLane.keys()]))
    const built = yield* mergeSegments(sources, plan, this.#reader)
    this.#sealed = this.#sealed.filter((segment) => !sources.includes(segment))
    if (built !== null) {
      const { data, from } = built
      const lanes = Uint16Array.from(from, ({ rows, slot }) => rows.laneOf(slot))
      const merged = this.#append(data, { plan, lanes, sourceNames })
      // At once: some ms for the largest segment.
      for (const [n, { rows, slot }] of from.entries())
        if (rows.isLive(slot))
          this.#groups.move(listingIdOf(merged.keyOf(n)), locationIn(rows, slot), locationIn(merged, n))
        else merged.delete(n)
      this.#options.listener.moved(merged, from)
    }
    for (const { number } of sources) this.#byNumber.delete(number)
  }
}

type AppendOptions = Omit<SegmentOptions, 'columns'> & { plan?: SegmentPlan }

const locationIn = ({ number }: Segment, slot: number): number => number * MAX_SEGMENT_ROWS + slot
const inTail = (slot: number): number => -1 - slot
