import { countedSizes, lowestPrices, type PriceKey, type Sizes } from '../domain/price/price-key.ts'
import { writeTerms } from '../domain/price/terms.ts'
import { type DerivedStep, MEANING, type Path, SIZE_FIELDS } from '../filter-spec/path.ts'
import { type Scalar, toScalar } from '../filter-spec/scalar.ts'
import { isJsonObject, type JsonValue, parseJson } from '../json/value.ts'

/** What an index keeps of one listing: the values of its paths, and the prices. */
export type RowValues = {
  readonly count: number
  /** Path number of each value. */
  readonly paths: readonly number[]
  /** `null` for arrays and objects: present, but equal to nothing. */
  readonly values: readonly (Scalar | null)[]
  readonly prices: RowPrices
  /** Empty for nothing. */
  readonly meaning: string
}

/** The lowest price of one listing in each basis. */
export type RowPrices = {
  sizes: Sizes
  bases: readonly string[]
  /** Per basis, of the whole offer. */
  keys: readonly PriceKey[]
  /** As of `writeTerms`. Many rows share it. */
  terms: string
}

/** Reads listings for an index. */
export class DocumentReader {
  readonly #paths: readonly Path[]
  /** What rows say of their listing; `null` for nothing. */
  readonly #meaning: DerivedStep | null
  // Reused for the next listing.
  readonly #pathNumbers: number[] = []
  readonly #values: (Scalar | null)[] = []
  #count = 0
  /** Of the listing that is read. */
  #source: string | undefined

  constructor(paths: readonly Path[]) {
    this.#paths = paths
    const [step] = paths.find(([first]) => first?.kind === 'derived') ?? []
    this.#meaning = step?.kind === 'derived' ? { ...step, field: MEANING } : null
  }

  /** `source`: by whose words derived values are made; default: that of the paths. The result is valid until the next call. @throws SyntaxError for what is not JSON */
  read(bytes: Uint8Array, source?: string): RowValues {
    const document = documentOf(bytes)
    this.#source = source
    this.#count = 0
    for (let n = 0; n < this.#paths.length; n++) this.#follow(n, 0, document)
    const meaning = this.#meaning === null ? '' : String(this.#derived(this.#meaning, document) ?? '')
    return {
      count: this.#count,
      paths: this.#pathNumbers,
      values: this.#values,
      prices: this.#pricesOf(document),
      meaning,
    }
  }

  #pricesOf(document: JsonValue): RowPrices {
    const sizes = this.#sizesOf(document)
    const lowest = lowestPrices(document, 'offer', sizes)
    const prices = [...lowest.values()]
    const keys = prices.map(({ key }) => key)
    return { sizes, bases: [...lowest.keys()], keys, terms: writeTerms(prices, sizes) }
  }

  #sizesOf(document: JsonValue): Sizes {
    const counted = countedSizes(document, '')
    const step = this.#meaning
    if (step === null || counted.gpu === null) return counted
    const size = (field: string): number | null => {
      const value = this.#derived(step, document, field)
      return typeof value === 'number' ? value : null
    }
    return { gpu: counted.gpu, gb: size(SIZE_FIELDS.gb), tflop: size(SIZE_FIELDS.tflop) }
  }

  /** Adds what `resolvePath` gives, without its arrays. */
  #follow(number: number, at: number, value: JsonValue | undefined): void {
    if (value === undefined || value === null) return
    const step = this.#paths[number]![at]
    if (step === undefined) this.#add(number, toScalar(value))
    else if (step.kind === 'member') {
      if (isJsonObject(value) && Object.hasOwn(value, step.name))
        this.#follow(number, at + 1, value[step.name])
    } else if (step.kind === 'index') {
      if (Array.isArray(value)) this.#follow(number, at + 1, value.at(step.index))
    } else if (step.kind === 'derived') this.#follow(number, at + 1, this.#derived(step, value))
    else if (Array.isArray(value)) for (const element of value) this.#follow(number, at + 1, element)
    else this.#follow(number, at + 1, value)
  }

  #derived({ valueIn, field, source }: DerivedStep, value: JsonValue, name = field): Scalar | null {
    return valueIn(value, name, this.#source ?? source)
  }

  #add(path: number, value: Scalar | null): void {
    this.#pathNumbers[this.#count] = path
    this.#values[this.#count++] = value
  }
}

/** @throws SyntaxError for what is not JSON */
export function documentOf({ buffer, byteOffset, byteLength }: Uint8Array): JsonValue {
  return parseJson(Buffer.from(buffer, byteOffset, byteLength).toString('utf8'))
}
