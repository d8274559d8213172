import type { PriceLimit } from '../domain/query.ts'
import type { Criterion } from '../filter-spec/criteria.ts'
import { passesTest } from '../filter-spec/evaluate.ts'
import type { JsonValue } from '../json/value.ts'
import { isWithin } from './row-prices.ts'
import { RowReader } from './scan/row-reader.ts'
import type { FoundValues } from './scan/row-scanner.ts'
import { Vocabulary } from './vocabulary.ts'

const KNOWN = new WeakMap<readonly Criterion[], RowConditions>()

/** The last ones are cached per list of criteria. */
export function rowConditions(criteria: readonly Criterion[], limit?: PriceLimit): RowConditions {
  const known = KNOWN.get(criteria)
  if (known !== undefined && known.limit === limit) return known
  const conditions = new RowConditions(criteria, limit)
  KNOWN.set(criteria, conditions)
  return conditions
}

/** As `matchesAll` and a price limit, but on bytes, which is several times as fast. */
class RowConditions {
  readonly limit: PriceLimit | undefined
  readonly #conditions: readonly { criterion: Criterion; path: number }[]
  readonly #reader: RowReader | null

  constructor(criteria: readonly Criterion[], limit?: PriceLimit) {
    this.limit = limit
    const vocabulary = new Vocabulary(criteria.map(({ filter }) => filter))
    this.#conditions = criteria.map((criterion) => ({
      criterion,
      path: vocabulary.columnOf(criterion.filter),
    }))
    const withPrices = limit !== undefined
    this.#reader =
      criteria.length === 0 && !withPrices ? null : new RowReader(vocabulary.paths, { withPrices })
  }

  /** `bytes` must be valid JSON. */
  accept(bytes: Uint8Array): boolean {
    if (this.#reader === null) return true
    const found = this.#reader.read(bytes)
    if (this.limit !== undefined && !isWithin(found.prices, this.limit)) return false
    return this.#conditions.every(({ criterion, path }) => passesFound(criterion, path, found))
  }
}

/** @param path number of the criterion's path */
function passesFound(
  { test, onMissing }: Criterion,
  path: number,
  { count, paths, values }: FoundValues,
): boolean {
  OWN.length = 0
  for (let n = 0; n < count; n++) if (paths[n] === path) OWN.push(values[n]!)
  return OWN.length === 0 ? onMissing === 'pass' : passesTest(test, OWN)
}

/** Reused. */
const OWN: JsonValue[] = []
