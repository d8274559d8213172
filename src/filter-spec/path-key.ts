import type { Path } from './path.ts'

const KEYS = new WeakMap<Path, string>()

/** One text for all paths that lead to the same place, however they are written. */
export const pathKey = (path: Path): string => {
  const known = KEYS.get(path)
  if (known !== undefined) return known
  const key = JSON.stringify(path)
  KEYS.set(path, key)
  return key
}
