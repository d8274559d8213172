import { toScalar } from '../../filter-spec/criteria.ts'
import { parseJson } from '../../json/value.ts'
import { type PathTree, walkPaths } from './path-tree.ts'
import { FoundValues, RowScanner } from './row-scanner.ts'

/** Finds what `resolvePath` gives per path. Parses rows that the scanner gives up on, ten times slower. */
export class RowReader {
  readonly #tree: PathTree
  readonly #scanner: RowScanner
  readonly #found = new FoundValues()

  constructor(tree: PathTree) {
    this.#tree = tree
    this.#scanner = new RowScanner(tree)
  }

  /** Expects valid JSON. The result is valid until the next call. @throws SyntaxError for some other bytes */
  read(bytes: Uint8Array): FoundValues {
    if (!this.#scanner.scan(bytes, this.#found)) this.#parse(bytes)
    return this.#found
  }

  #parse({ buffer, byteOffset, byteLength }: Uint8Array): void {
    const document = parseJson(Buffer.from(buffer, byteOffset, byteLength).toString('utf8'))
    this.#found.count = 0
    walkPaths(this.#tree, document, (path, value) => this.#found.add(path, toScalar(value)))
  }
}
