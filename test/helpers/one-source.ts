import type { Filter } from '../../src/filter-spec/filter.ts'
import type { Copy, Row } from '../../src/listing-index/copy.ts'
import { CopyIndex } from '../../src/listing-index/copy-index.ts'
import type { CopyMatches, CopyPage } from '../../src/listing-index/copy-matches.ts'
import type { CopyConditions } from '../../src/listing-index/match.ts'
import type { SegmentSizes } from '../../src/listing-index/merge-segments.ts'
import type { Scope } from '../../src/listing-index/scope.ts'
import type { SegmentData } from '../../src/listing-index/segment.ts'
import { SourceSet } from '../../src/listing-index/source-set.ts'
import type { Projection } from '../../src/registry/projection.ts'
import { run } from './steps.ts'

const EVERYTHING: CopyConditions = { status: null, criteria: [] }
/** Rows of `entries` that are looked up at once. */
const PAGE = 512
export const NAME = 'local'

/** Rows of one source in an index, and questions about all of them. */
export class OneSource {
  readonly index: CopyIndex
  readonly source: number
  readonly #scope: Scope

  /** @param rows of a source that is there already. Default: of a new one */
  constructor(filters: Iterable<Filter>, sizes?: SegmentSizes, rows?: { index: CopyIndex; source: number }) {
    this.index = rows?.index ?? new CopyIndex(filters, sizes)
    this.source = rows?.source ?? this.index.addSource(NAME)
    const ranking = run(this.index.rank({ names: [NAME], groupBy: 'listing' }))
    this.#scope = { ranking, sources: new SourceSet([this.source]) }
  }

  /** The listings of the own Registry. */
  static of(projection: Projection): OneSource {
    return new OneSource([], undefined, projection)
  }

  put(row: Row): void {
    this.index.put(this.source, row)
  }

  remove(listingId: string): boolean {
    return this.index.remove(this.source, listingId)
  }

  load(rows: readonly Row[]): Generator<unknown, void> {
    return this.index.load(this.source, rows)
  }

  adopt(segment: SegmentData): Generator<void> {
    return this.index.adopt(this.source, segment, this.plan)
  }

  get plan() {
    return this.index.planOf(this.source)
  }

  get size(): number {
    return this.index.about(this.source).rows
  }

  get(listingId: string): Copy | undefined {
    return this.index.get(this.source, listingId)
  }

  matches(conditions: CopyConditions): CopyMatches {
    return run(this.index.match(this.#scope, conditions))
  }

  /** Newest first, then by id. */
  query({ limit, offset, after, ...conditions }: CopyConditions & CopyPage) {
    const matches = this.matches(conditions)
    return { total: matches.total, rows: matches.page({ limit, offset, after }) }
  }

  /** As a stream reads them. */
  *entries(conditions: CopyConditions = EVERYTHING): Generator<Copy> {
    for (let after: CopyPage['after'] | undefined = null; after !== undefined; ) {
      const { rows } = this.query({ ...conditions, limit: PAGE, after })
      yield* rows
      const last = rows.at(-1)
      after = last && { ...last, source: NAME }
    }
  }
}
