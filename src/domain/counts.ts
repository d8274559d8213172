/** Of the entries of counts: the most first. */
export function byCount([a, count]: [string, number], [b, other]: [string, number]): number {
  return other - count || (a < b ? -1 : a > b ? 1 : 0)
}

export function addTo<Key>(counts: Map<Key, number>, key: Key, count = 1): void {
  counts.set(key, (counts.get(key) ?? 0) + count)
}
