/** Readings that are remembered until there are more: sellers choose the texts. */
const MAX_REMEMBERED = 10_000

/** What `read` gives for that key, which is read once until there are too many: then all are forgotten. */
export function remembered<Reading>(
  readings: Map<string, Reading>,
  key: string,
  read: () => Reading,
): Reading {
  const known = readings.get(key)
  if (known !== undefined) return known
  // The oldest of a map is found behind all that were deleted before it.
  if (readings.size >= MAX_REMEMBERED) readings.clear()
  const reading = read()
  readings.set(key, reading)
  return reading
}

/** Puts it last, and forgets the first of more than `most`. */
export function keepLatest<Key, Value>(kept: Map<Key, Value>, key: Key, value: Value, most: number): void {
  kept.delete(key)
  kept.set(key, value)
  if (kept.size > most) kept.delete(kept.keys().next().value!)
}

/** What `read` gives for an object, which is read once as long as the object lives. */
export function oncePerObject<Key extends object, Reading>(
  read: (key: Key) => Reading,
): (key: Key) => Reading {
  const readings = new WeakMap<Key, { reading: Reading }>()
  return (key) => {
    const known = readings.get(key) ?? { reading: read(key) }
    readings.set(key, known)
    return known.reading
  }
}
