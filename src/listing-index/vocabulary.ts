import { type JsonValue, parseJson } from '../domain/json.ts'
import type { Filter } from '../filter-spec/filter.ts'
import { type Path, resolvePath } from '../filter-spec/path.ts'

/** The paths that an index has columns for, each once, whatever number of filters shares it. */
export class Vocabulary {
  readonly paths: readonly Path[]
  readonly #columns = new Map<string, number>()

  constructor(filters: Iterable<Filter>) {
    const paths: Path[] = []
    for (const { compiled } of filters) {
      const key = JSON.stringify(compiled)
      if (this.#columns.has(key)) continue
      this.#columns.set(key, paths.length)
      paths.push(compiled)
    }
    this.paths = paths
  }

  /** @throws Error for a filter whose path none of the index's own filters has */
  columnOf(filter: Filter): number {
    const column = this.#columns.get(JSON.stringify(filter.compiled))
    if (column === undefined) throw new Error(`filter '${filter.name}' is not in the index's vocabulary`)
    return column
  }

  /**
   * What each path finds in a listing.
   * @throws SyntaxError when the bytes are not JSON
   */
  read(bytes: Uint8Array): JsonValue[][] {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
    const document = parseJson(text)
    return this.paths.map((path) => resolvePath(path, document))
  }
}
