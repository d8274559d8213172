import { countedSizes, lowestPrices, scaleKey } from '../domain/price/price-key.ts'
import type { PriceLimit } from '../domain/query.ts'
import type { JsonValue } from '../json/value.ts'
import type { Criterion } from './filter.ts'
import { testOf } from './operations/operations.ts'
import { resolvePath } from './path.ts'

/** Whether a document fulfils all criteria, and has a price within the limit. */
export function matchesAll(
  criteria: readonly Criterion[],
  document: JsonValue,
  priceLimit?: PriceLimit,
): boolean {
  return (
    criteria.every((criterion) => matches(criterion, document)) &&
    (priceLimit === undefined || isWithin(priceLimit, document))
  )
}

/** If the field is missing, only `onMissing` decides. */
function matches({ filter, test, onMissing }: Criterion, document: JsonValue): boolean {
  const values = resolvePath(filter.compiled, document)
  return values.length === 0 ? onMissing === 'pass' : testOf(test).passes(test, values)
}

function isWithin(
  { tokens, per, max, scaleOf, sizesOf = countedSizes }: PriceLimit,
  document: JsonValue,
): boolean {
  return [...lowestPrices(document, per, sizesOf(document, ''))].some(
    ([basis, { option, per: pricePer, key }]) =>
      pricePer === per &&
      tokens.some(({ chain, address }) => option.chain === chain && option.token === address) &&
      scaleKey(key, scaleOf?.(basis)) <= max,
  )
}
