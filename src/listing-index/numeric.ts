export type Numeric = number | bigint

/** Exact. Doubles have their own path, so that one bigint does not slow down the other comparisons. */
export const isLess = (a: Numeric, b: Numeric): boolean =>
  typeof a === 'number' && typeof b === 'number' ? a < b : lessMixed(a, b)

const lessMixed = (a: Numeric, b: Numeric): boolean => a < b

export const compareNumbers = (a: Numeric, b: Numeric): number => (isLess(a, b) ? -1 : isLess(b, a) ? 1 : 0)

/** How many of the ascending values are less than `bound`, or equal if `orEqual`. */
export function countBelow(values: readonly Numeric[], bound: Numeric, orEqual: boolean): number {
  let low = 0
  let high = values.length
  while (low < high) {
    const middle = (low + high) >> 1
    const value = values[middle]!
    if (isLess(value, bound) || (orEqual && !isLess(bound, value))) low = middle + 1
    else high = middle
  }
  return low
}
