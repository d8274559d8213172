import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../domain/json.ts'
import { withMember } from '../domain/json-members.ts'
import type { MergedItem } from '../domain/merge.ts'
import { renderMeta } from '../gateway/envelope.ts'

/** One listing on its way out: JSON text, as its Registry served it plus `_meta`, or as a policy made it. */
export type Row = string

export const toRow = (merged: MergedItem): Row =>
  withMember(merged.item.bytes, '_meta', renderMeta(merged)).toString('utf8')

/** The row's value for showing it; what is no object shows as an empty one. */
export const readRow = (row: Row): JsonObject => {
  const value = parseJson(row)
  return isJsonObject(value) ? value : {}
}

/** Where in a row a value is, `null` where there is none; array indexes as numbers. */
export const at = (value: JsonValue | undefined, ...path: readonly (string | number)[]): JsonValue => {
  let found: JsonValue = value ?? null
  for (const step of path) {
    if (typeof step === 'number') found = Array.isArray(found) ? (found[step] ?? null) : null
    else found = isJsonObject(found) && Object.hasOwn(found, step) ? (found[step] ?? null) : null
  }
  return found
}

/** A scalar as text; `null` for what is none. */
export const textAt = (
  value: JsonValue | undefined,
  ...path: readonly (string | number)[]
): string | null => {
  const found = at(value, ...path)
  return typeof found === 'string' ||
    typeof found === 'number' ||
    typeof found === 'bigint' ||
    typeof found === 'boolean'
    ? String(found)
    : null
}
