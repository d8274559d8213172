/** Of the entries of counts: the most first. */
export function byCount([a, count]: [string, number], [b, other]: [string, number]): number {
  return other - count || (a < b ? -1 : a > b ? 1 : 0)
}

export function addTo<Key>(counts: Map<Key, number>, key: Key, count = 1): void {
  counts.set(key, (counts.get(key) ?? 0) + count)
}

/** The map of that name, which is made where it does not exist. */
export function mapIn<Key, Value>(maps: Map<string, Map<Key, Value>>, name: string): Map<Key, Value> {
  const map = maps.get(name) ?? new Map<Key, Value>()
  maps.set(name, map)
  return map
}
