import { textAt } from '../../../json/value.ts'
import { strangerText } from '../../common/untrusted-text.ts'
import { parseListing, type Row } from '../data/listing-row.ts'

const MAX_SUGGESTIONS = 50
const MAX_LOOKED_AT = 300

/** Sorted; none that `strangerText` would change. */
export function suggestionsAt(rows: readonly Row[], path: readonly string[]): string[] {
  const values = new Set<string>()
  for (const row of rows.slice(0, MAX_LOOKED_AT)) {
    const value = textAt(parseListing(row.bytes), ...path)
    if (value !== null && value !== '' && strangerText(value) === value) values.add(value)
    if (values.size >= MAX_SUGGESTIONS) break
  }
  return [...values].sort()
}
