import type { Path } from './path.ts'

const KEYS = new WeakMap<Path, string>()

/** Equal for paths to the same place, however they are written. */
export function pathKey(path: Path): string {
  const known = KEYS.get(path)
  if (known !== undefined) return known
  const key = JSON.stringify(path)
  KEYS.set(path, key)
  return key
}
