import type { Filter } from '../filter-spec/filter.ts'
import { type Path, pathKey } from '../filter-spec/path.ts'

/** The distinct paths of an index's filters, one per column. */
export class Vocabulary {
  /** In the order of the columns. */
  readonly paths: readonly Path[]
  readonly #columns = new Map<string, number>()

  constructor(filters: Iterable<Filter>) {
    const paths = new Map(Array.from(filters, ({ compiled }) => [pathKey(compiled), compiled]))
    for (const key of paths.keys()) this.#columns.set(key, this.#columns.size)
    this.paths = [...paths.values()]
  }

  /** @throws Error for a filter whose path the index lacks */
  columnOf(filter: Filter): number {
    const column = this.#columns.get(pathKey(filter.compiled))
    if (column === undefined) throw new Error(`filter '${filter.name}' is not in the index's vocabulary`)
    return column
  }
}
