import { isJsonObject, parseJson } from '../../domain/json.ts'

/** Those that the `detail` of a 400 names, or else all. */
export function refusedFilters(
  body: Buffer,
  filters: readonly (readonly [name: string, value: string])[],
): string[] {
  const asked = [...new Set(filters.map(([name]) => plainName(name)))]
  const words = new Set(
    detailOf(body)
      .split(/[^\w.-]+/)
      .map((word) => plainName(word.replace(/\.+$/, ''))),
  )
  const named = asked.filter((name) => words.has(name))
  return named.length > 0 ? named : asked
}

/** `strict.gpu_model` → `gpu_model` */
const plainName = (name: string): string => name.replace(/^strict\./, '')

function detailOf(body: Buffer): string {
  try {
    const value = parseJson(body.toString())
    return isJsonObject(value) && typeof value.detail === 'string' ? value.detail : ''
  } catch {
    // A refusal in another form names no filter.
    return ''
  }
}
