import { LISTING_STATUSES } from '../domain/listing.ts'
import type { Origin } from '../domain/source/item.ts'
import type { Filter } from '../filter-spec/filter.ts'
import { type Path, pathKey } from '../filter-spec/path.ts'
import { ColumnBuilder } from './column-builder.ts'
import type { Row } from './copy.ts'
import { DocumentReader, type RowValues } from './document-reader.ts'
import { PriceColumnsBuilder } from './price-columns-builder.ts'
import { comparePlaces, type SegmentData, type Shared } from './segment.ts'
import { TextStore } from './text-store.ts'

export type SegmentPlan = {
  /** One per column, in order. */
  paths: readonly Path[]
  /** By the key of its path. */
  columns: ReadonlyMap<string, number>
  /** Most rows of a segment. */
  rows: number
}

/** The distinct ones, one per column. */
export function pathsOf(filters: Iterable<Filter>): Path[] {
  return [...new Map(Array.from(filters, ({ compiled }) => [pathKey(compiled), compiled])).values()]
}

export function segmentPlan(paths: readonly Path[], rows: number): SegmentPlan {
  return { paths, columns: new Map(paths.map((path, n) => [pathKey(path), n])), rows }
}

/** Values and rows per step: about a ms. */
export const STEP = 4096
/** Of a merged segment: bounds the work of one column, and the memory of a merge. */
export const MAX_VALUES = 2_000_000

type GivenParts = {
  /** The name of its source, by whose words derived values are made. Default: that of the plan. */
  source?: string | undefined
  /** What is kept. Default: a copy of the bytes. */
  text?: Uint8Array
  /** Default: what is read. */
  rowValues?: RowValues
}

/** Builds a segment, such as on another thread. */
export class SegmentBuilder {
  readonly #reader: DocumentReader
  readonly #texts = new TextStore()
  readonly #columns: readonly ColumnBuilder[]
  readonly #sellerColumn: ColumnBuilder
  readonly #prices: PriceColumnsBuilder
  readonly #most: number
  readonly #keys: string[] = []
  readonly #positions: Float64Array
  readonly #sellers: Float64Array
  readonly #statuses: Uint8Array
  readonly #chunks: SharedBuilder<ArrayBufferLike>
  readonly #starts: Uint16Array
  readonly #lengths: Uint32Array
  readonly #meanings: SharedBuilder<string>
  readonly #terms: SharedBuilder<string>
  readonly #origins: SharedBuilder<Origin | undefined>
  #values = 0

  /** @param reader of the plan */
  constructor(plan: SegmentPlan, reader = new DocumentReader(plan.paths)) {
    const { paths, rows } = plan
    this.#reader = reader
    this.#columns = Array.from(paths, () => new ColumnBuilder(rows))
    this.#sellerColumn = new ColumnBuilder(rows)
    this.#prices = new PriceColumnsBuilder(rows)
    this.#most = rows
    this.#positions = new Float64Array(rows)
    this.#sellers = new Float64Array(rows)
    this.#statuses = new Uint8Array(rows)
    this.#chunks = new SharedBuilder(rows)
    this.#meanings = new SharedBuilder(rows)
    this.#terms = new SharedBuilder(rows)
    this.#origins = new SharedBuilder(rows)
    this.#starts = new Uint16Array(rows)
    this.#lengths = new Uint32Array(rows)
  }

  get size(): number {
    return this.#keys.length
  }

  get values(): number {
    return this.#values
  }

  /**
   * Rows come oldest first, and equally placed ones are of different sources. @throws SyntaxError for some invalid JSON; RangeError
   * for another order or too many rows
   */
  add(row: Row, given: GivenParts = {}): void {
    const { key, seller, status, position, bytes, origin } = row
    const { source, text = this.#texts.add(bytes), rowValues = this.#reader.read(bytes, source) } = given
    const { count, paths, values, prices, meaning } = rowValues
    const slot = this.size
    if (slot === this.#most) throw new RangeError('the segment is full')
    const before = { key: this.#keys[slot - 1]!, position: this.#positions[slot - 1]! }
    if (slot > 0 && comparePlaces({ key, position }, before) < 0)
      throw new RangeError('the rows of a segment come oldest first')
    this.#keys.push(key)
    this.#positions[slot] = position
    this.#sellers[slot] = seller
    this.#statuses[slot] = LISTING_STATUSES.indexOf(status)
    this.#sellerColumn.add(slot, seller)
    this.#chunks.add(slot, text.buffer)
    this.#starts[slot] = text.byteOffset
    this.#lengths[slot] = text.length
    this.#values += count
    this.#meanings.add(slot, meaning)
    this.#terms.add(slot, prices.terms)
    this.#origins.add(slot, origin)
    this.#prices.add(slot, prices)
    for (let n = 0; n < count; n++) this.#columns[paths[n]!]!.add(slot, values[n]!)
  }

  /** Returns the segment after steps, each of which gives its values and rows; the builder is then unusable. */
  *finish(): Generator<number, SegmentData> {
    const { size } = this
    const columns = []
    for (const column of this.#columns) {
      columns.push(column.finish(size))
      yield size + column.pairs
    }
    const prices = yield* this.#prices.finish(size)
    const { values: buffers, numbers } = this.#chunks.finish(size)
    return {
      keys: this.#keys,
      positions: this.#positions.slice(0, size),
      sellers: this.#sellers.slice(0, size),
      statuses: this.#statuses.slice(0, size),
      chunks: { values: buffers.map((buffer) => new Uint8Array(buffer)), numbers },
      starts: this.#starts.slice(0, size),
      lengths: this.#lengths.slice(0, size),
      meanings: this.#meanings.finish(size),
      terms: this.#terms.finish(size),
      origins: this.#origins.finish(size),
      columns,
      sellerColumn: this.#sellerColumn.finish(size),
      prices,
      values: this.#values,
    }
  }
}

/** Numbers values in order of arrival. */
class SharedBuilder<Value> {
  readonly #numberOf = new Map<Value, number>()
  readonly #numbers: Uint16Array

  constructor(rows: number) {
    this.#numbers = new Uint16Array(rows)
  }

  add(slot: number, value: Value): void {
    const number = this.#numberOf.get(value) ?? this.#numberOf.size
    if (number === this.#numberOf.size) this.#numberOf.set(value, number)
    this.#numbers[slot] = number
  }

  finish(size: number): Shared<Value> {
    return { values: [...this.#numberOf.keys()], numbers: this.#numbers.slice(0, size) }
  }
}

/** Segments of rows, the oldest first and of one source, in steps of some ms. Each is adopted before the next. */
export function* loadSegments(
  plan: SegmentPlan,
  rows: readonly Row[],
  adopt: (data: SegmentData) => Generator<void>,
  source?: string,
): Generator<unknown, void> {
  let builder = new SegmentBuilder(plan)
  let read = 0
  for (const [n, row] of rows.entries()) {
    builder.add(row, { source })
    read += row.bytes.length
    if (read > BYTES_PER_STEP) {
      yield
      read = 0
    }
    const isLast = n === rows.length - 1
    if (!isLast && builder.size < plan.rows && builder.values < MAX_VALUES) continue
    yield* adopt(yield* builder.finish())
    builder = new SegmentBuilder(plan)
  }
}

/** About 2 ms. */
const BYTES_PER_STEP = 256 * 1024
