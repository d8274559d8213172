import { isJsonObject, type JsonValue, parseJson } from '../../json/value.ts'
import { CliError, EXIT } from '../exit-codes.ts'
import { readTextFile } from '../listing-file.ts'

/**
 * Whether a file of results, a JSON array or NDJSON, has the write as accepted. Its last line may be cut off.
 * @throws CliError 65 for a file without results
 */
export function readAcceptedResults(file: string): (registry: string, listingId: string) => boolean {
  const results = parseResults(readTextFile(file)).filter(isJsonObject)
  if (!results.some(({ outcome }) => typeof outcome === 'string'))
    throw new CliError(EXIT.badData, `${file} has no results of a publish`)
  const accepted = new Set(
    results
      .filter(({ action, outcome }) => action === 'publish' && outcome === 'accepted')
      .map(({ registry, listing_id }) => `${registry}\n${listing_id}`),
  )
  return (registry, listingId) => accepted.has(`${registry}\n${listingId}`)
}

function parseResults(text: string): JsonValue[] {
  const value = parseOrNull(text)
  if (Array.isArray(value)) return value
  return text.split('\n').map(parseOrNull)
}

function parseOrNull(text: string): JsonValue {
  try {
    return parseJson(text)
  } catch {
    return null // not a result
  }
}
