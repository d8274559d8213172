import type { Scalar } from '../filter-spec/criteria.ts'

/** What a vocabulary's paths find in one listing. Reused for the next. */
export class FoundValues {
  count = 0
  /** Whether a path found `null`, which is not a value. */
  hasNull = false
  /** Path number of each value. */
  readonly paths: number[] = []
  /** `null` for arrays and objects: present, but equal to nothing. */
  readonly values: (Scalar | null)[] = []

  add(path: number, value: Scalar | null): void {
    this.paths[this.count] = path
    this.values[this.count] = value
    this.count++
  }

  copy(): FoundValues {
    const copy = new FoundValues()
    for (let n = 0; n < this.count; n++) copy.add(this.paths[n]!, this.values[n]!)
    return copy
  }
}
