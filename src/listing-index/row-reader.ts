import { parseJson } from '../domain/json.ts'
import { toScalar } from '../filter-spec/scalar.ts'
import { FoundValues } from './found-values.ts'
import { type PathTree, walkPaths } from './path-tree.ts'
import { RowScanner } from './row-scanner.ts'

/**
 * Reads from a listing's bytes what the paths of a vocabulary find there: what `resolvePath` gives for each of them.
 * Only what is wanted is read; a row in which that is not plain to see is parsed as a whole, which is ten times as
 * slow and says the same.
 */
export class RowReader {
  readonly #tree: PathTree
  readonly #scanner: RowScanner
  readonly #found = new FoundValues()

  constructor(tree: PathTree) {
    this.#tree = tree
    this.#scanner = new RowScanner(tree)
  }

  /**
   * What it finds is valid until the next call.
   * @param bytes JSON that a parser has accepted; what is found in others means nothing
   * @throws SyntaxError for some that are not JSON
   */
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
