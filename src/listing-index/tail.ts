import { inOneTurn } from '../domain/turns.ts'
import type { HeldRow, Row } from './copy.ts'
import type { DocumentReader, RowValues } from './document-reader.ts'
import { comparePlaces, type Rows, Segment, type SegmentData } from './segment.ts'
import { SegmentBuilder, type SegmentPlan } from './segment-builder.ts'
import type { TextStore } from './text-store.ts'

/** The number of its segments. */
const IN_TAIL = -1
/** Rows that are built into a segment again with each change; the others wait for more. */
const FEW = 8

type TailRow = { row: Row; lane: number; rowValues: RowValues }

/** The latest rows in slots, each of which keeps its row until that is deleted. Queries see them as one or two segments. */
export class Tail implements Rows {
  /** Slots. */
  readonly size: number
  readonly #plan: SegmentPlan
  readonly #reader: DocumentReader
  readonly #sourceNameOf: (lane: number) => string | undefined
  readonly #texts: TextStore
  readonly #rows = new Map<number, TailRow>()
  readonly #free: number[]
  /** Rows of `#base` are at these slots of it; the others are built again after a change. */
  #base: Segment | null = null
  readonly #slotsOfBase = new Map<number, number>()
  /** As of the latest change. */
  #segments: readonly Segment[] | null = null
  values = 0

  constructor(size: number, { plan, reader, texts, sourceNameOf }: TailOptions) {
    this.size = size
    this.#plan = plan
    this.#reader = reader
    this.#texts = texts
    this.#sourceNameOf = sourceNameOf
    this.#free = Array.from({ length: size }, (_, n) => size - 1 - n)
  }

  get isFull(): boolean {
    return this.#free.length === 0
  }

  /** @param rowValues of the plan; the reader may overwrite them @returns its slot */
  add(row: Row, lane: number, { count, paths, values, ...about }: RowValues): number {
    const { key, seller, status, position, origin } = row
    const slot = this.#free.pop()!
    const rowValues = { count, paths: paths.slice(0, count), values: values.slice(0, count), ...about }
    const held = {
      key,
      seller,
      status,
      position,
      bytes: this.#texts.add(row.bytes),
      ...(origin && { origin }),
    }
    this.#rows.set(slot, { row: held, lane, rowValues })
    this.values += count
    this.#segments = null
    return slot
  }

  delete(slot: number): void {
    this.values -= this.#rows.get(slot)!.rowValues.count
    this.#rows.delete(slot)
    this.#free.push(slot)
    this.#segments = null
    const inBase = this.#slotsOfBase.get(slot)
    if (inBase === undefined) return
    this.#base!.delete(inBase)
    this.#slotsOfBase.delete(slot)
  }

  get segments(): readonly Segment[] {
    this.#segments ??= this.#divide()
    return this.#segments
  }

  #divide(): readonly Segment[] {
    if (this.#rows.size - this.#slotsOfBase.size > FEW) {
      const built = this.#build(this.slots)
      this.#base = this.#segment(built)
      this.#slotsOfBase.clear()
      for (const [n, slot] of built.slots.entries()) this.#slotsOfBase.set(slot, n)
    }
    const others = this.slots.filter((slot) => !this.#slotsOfBase.has(slot))
    const segments = others.length > 0 ? [this.#segment(this.#build(others))] : []
    return this.#slotsOfBase.size > 0 ? [...segments, this.#base!] : segments
  }

  /** All rows, for a segment. `slots`: where each of its rows is. */
  seal(): { data: SegmentData; lanes: Uint16Array; slots: readonly number[] } {
    return this.#build(this.slots)
  }

  get slots(): number[] {
    return [...this.#rows.keys()]
  }

  keyOf(slot: number): string {
    return this.#rows.get(slot)!.row.key
  }

  laneOf(slot: number): number {
    return this.#rows.get(slot)!.lane
  }

  sellerOf(slot: number): number {
    return this.#rows.get(slot)!.row.seller
  }

  lengthOf(slot: number): number {
    return this.#rows.get(slot)!.row.bytes.length
  }

  rowAt(slot: number): HeldRow {
    const { row, rowValues } = this.#rows.get(slot)!
    return { ...row, meaning: rowValues.meaning, terms: rowValues.prices.terms }
  }

  #build(slots: readonly number[]) {
    const builder = new SegmentBuilder({ ...this.#plan, rows: slots.length }, this.#reader)
    const rows = slots.map((slot) => {
      const row = this.#rows.get(slot)!
      const { position, key } = row.row
      return { ...row, slot, position, key, source: this.#sourceNameOf(row.lane) }
    })
    rows.sort(comparePlaces)
    for (const { row, rowValues } of rows) builder.add(row, { text: row.bytes, rowValues })
    const lanes = Uint16Array.from(rows, ({ lane }) => lane)
    return { data: inOneTurn(builder.finish()), lanes, slots: rows.map(({ slot }) => slot) }
  }

  #segment({ data, lanes, slots }: ReturnType<Tail['seal']>): Segment {
    const sourceNames = new Map(new Set(lanes).values().map((lane) => [lane, this.#sourceNameOf(lane)]))
    const { columns } = this.#plan
    return new Segment(IN_TAIL, data, { columns, lanes, sourceNames, tailSlots: Uint16Array.from(slots) })
  }
}

type TailOptions = {
  plan: SegmentPlan
  reader: DocumentReader
  texts: TextStore
  sourceNameOf: (lane: number) => string | undefined
}
