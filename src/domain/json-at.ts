import { isJsonObject, type JsonValue } from './json.ts'

/** `null` where the path leads nowhere. */
export function at(value: JsonValue | undefined, ...path: readonly (string | number)[]): JsonValue {
  let found: JsonValue = value ?? null
  for (const step of path) {
    if (typeof step === 'number') found = Array.isArray(found) ? (found[step] ?? null) : null
    else found = isJsonObject(found) && Object.hasOwn(found, step) ? (found[step] ?? null) : null
  }
  return found
}

export function textAt(value: JsonValue | undefined, ...path: readonly (string | number)[]): string | null {
  const found = at(value, ...path)
  return typeof found === 'string' ||
    typeof found === 'number' ||
    typeof found === 'bigint' ||
    typeof found === 'boolean'
    ? String(found)
    : null
}
