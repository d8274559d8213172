import type { Path } from '../../filter-spec/path.ts'
import { parseJson } from '../../json/value.ts'
import { rowPrices } from '../row-prices.ts'
import { PriceFinder } from './price-finder.ts'
import { FoundValues, RowScanner } from './row-scanner.ts'

/** Finds what `resolvePath` gives per path, and prices. Parses rows that the scanner gives up on, ten times slower. */
export class RowReader {
  readonly #paths: readonly Path[]
  readonly #scanner: RowScanner
  readonly #prices: PriceFinder | null
  readonly #found = new FoundValues()

  constructor(paths: readonly Path[], { withPrices }: { withPrices: boolean }) {
    this.#paths = paths
    this.#prices = withPrices ? new PriceFinder(paths) : null
    this.#scanner = new RowScanner(this.#prices?.paths ?? paths, this.#prices?.exact)
  }

  /** Expects valid JSON. The result is valid until the next call. @throws SyntaxError for some other bytes */
  read(bytes: Uint8Array): FoundValues {
    if (!this.#scanner.scan(bytes, this.#found)) this.#parse(bytes)
    else if (this.#prices !== null) {
      this.#found.prices = this.#prices.pricesIn(this.#found)
      this.#found.keep(this.#paths.length)
    }
    return this.#found
  }

  #parse({ buffer, byteOffset, byteLength }: Uint8Array): void {
    const document = parseJson(Buffer.from(buffer, byteOffset, byteLength).toString('utf8'))
    this.#found.readDocument(this.#paths, document)
    if (this.#prices !== null) this.#found.prices = rowPrices(document)
  }
}
