import type { Exclusion } from '../domain/reading.ts'
import type { JsonValue } from '../json/value.ts'
import type { Criterion } from './criteria.ts'
import { failureOf } from './evaluate.ts'

export class Exclusions {
  readonly #counts: readonly { criterion: Criterion; exclusion: Exclusion }[]

  constructor(criteria: readonly Criterion[]) {
    this.#counts = criteria.map((criterion) => ({
      criterion,
      exclusion: { filter: criterion.filter.name, byValue: 0, missing: 0 },
    }))
  }

  /** A document that fails several conditions counts in each. */
  add(document: JsonValue): void {
    for (const { criterion, exclusion } of this.#counts) {
      const failure = failureOf(criterion, document)
      if (failure === 'value') exclusion.byValue++
      if (failure === 'missing') exclusion.missing++
    }
  }

  get list(): readonly Exclusion[] {
    return this.#counts.map(({ exclusion }) => exclusion)
  }
}
