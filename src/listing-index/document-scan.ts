import { SourceError } from '../domain/source/source-error.ts'
import { matchesAll } from '../filter-spec/evaluate.ts'
import { type Criterion, criteriaIn } from '../filter-spec/filter.ts'
import { type Bitset, bitset, clearBit, countOf, forEachBit, hasBit, setBit } from './bitset.ts'
import { documentOf } from './document-reader.ts'
import type { Segment } from './segment.ts'

/** Most rows that one question reads for filters whose columns are still to be built. */
const MEMORY_SCAN_LIMIT = 10_000

/** Evaluates criteria on the documents of rows whose segment lacks a column. Keeps what it has found, for one question. */
export class DocumentScan {
  readonly #verdicts = new WeakMap<Segment, { known: Bitset; passing: Bitset }>()
  #rows = 0

  /** Drops the matches of the segment that fail one of the criteria without a column. Returns how many are left. */
  keep(segment: Segment, matches: Bitset, criteria: readonly Criterion[]): number {
    for (const _step of this.evaluate(segment, matches, criteria));
    const { passing } = this.#verdictsOf(segment)
    for (let n = 0; n < matches.length; n++) matches[n] = matches[n]! & passing[n]!
    return countOf(matches)
  }

  /** Reads these rows of the segment, a few in each step. @throws SourceError `unsupported_filter` for too many */
  *evaluate(segment: Segment, matches: Bitset, criteria: readonly Criterion[]): Generator<void> {
    const lacking = criteria.filter(({ filter }) => segment.columnOf(filter) === undefined)
    const { known, passing } = this.#verdictsOf(segment)
    const slots: number[] = []
    forEachBit(matches, (slot) => {
      if (!hasBit(known, slot)) slots.push(slot)
    })
    this.#rows += slots.length
    if (this.#rows > MEMORY_SCAN_LIMIT) throw tooManyRows(lacking)
    for (const [n, slot] of slots.entries()) {
      setBit(known, slot)
      const inSource = criteriaIn(lacking, segment.sourceOf(slot) ?? '')
      if (matchesAll(inSource, documentOf(segment.rowAt(slot).bytes))) setBit(passing, slot)
      else clearBit(passing, slot)
      if (n % ROWS_PER_STEP === ROWS_PER_STEP - 1) yield
    }
  }

  #verdictsOf(segment: Segment) {
    const verdicts = this.#verdicts.get(segment) ?? {
      known: bitset(segment.size),
      passing: bitset(segment.size),
    }
    this.#verdicts.set(segment, verdicts)
    return verdicts
  }
}

/** About a ms. */
const ROWS_PER_STEP = 32

function tooManyRows(criteria: readonly Criterion[]): SourceError {
  const filters = [...new Set(criteria.map(({ filter }) => filter.name))]
  const message = `the index is still learning filter ${filters.join(', ')}, and more than ${MEMORY_SCAN_LIMIT} listings match the others: ask again later`
  return new SourceError('unsupported_filter', message, { filters })
}
