/** The first number in `[low, high)` that is reached, as all behind it are; `high` without one. */
export function firstFrom(low: number, high: number, isReached: (n: number) => boolean): number {
  let from = low
  let to = high
  while (from < to) {
    const middle = (from + to) >> 1
    if (isReached(middle)) to = middle
    else from = middle + 1
  }
  return from
}
