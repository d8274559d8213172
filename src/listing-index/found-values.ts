import type { Scalar } from '../filter-spec/criteria.ts'

/** What the paths of a vocabulary find in one listing. Filled again for the next. */
export class FoundValues {
  count = 0
  /** Whether a path found a `null`, which is no value. */
  hasNull = false
  /** For each value, the number of the path that found it. */
  readonly paths: number[] = []
  /** `null` for one that is no scalar: arrays and objects are present, though nothing equals them. */
  readonly values: (Scalar | null)[] = []

  add(path: number, value: Scalar | null): void {
    this.paths[this.count] = path
    this.values[this.count] = value
    this.count++
  }
}
