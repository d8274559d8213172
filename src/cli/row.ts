import { isJsonObject, type JsonObject, parseJson } from '../domain/json.ts'
import { renderItem } from '../gateway/envelope.ts'
import type { MergedItem } from '../gateway/merged-item.ts'

/** One listing on its way out: JSON text, as its Registry served it plus `_meta`, or as a policy made it. */
export type Row = string

export const toRow = (merged: MergedItem): Row => renderItem(merged).toString('utf8')

/** The row's value for showing it; what is no object shows as an empty one. */
export const readRow = (row: Row): JsonObject => {
  const value = parseJson(row)
  return isJsonObject(value) ? value : {}
}
