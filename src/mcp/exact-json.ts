import { safeText } from '../domain/safe-text.ts'

/** TypeScript's library does not know these yet (ECMAScript 2026, JSON.parse source text access). */
const parseWithSource = JSON.parse as (
  text: string,
  reviver: (name: string, value: unknown, context: { source: string }) => unknown,
) => unknown
const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => unknown }

/**
 * A value for structured content. Hidden characters in strings and member names become visible escapes (`safeText`).
 * Numbers keep their digits when the value is written as JSON again: `1.0` stays `1.0`, and integers of any size stay
 * exact. Only for values that are written and never computed with.
 * @throws SyntaxError
 */
export function parseSafe(json: string): unknown {
  return parseWithSource(json, (_name, value, { source }) => {
    if (typeof value === 'string') return safeText(value)
    if (typeof value === 'number') return String(value) === source ? value : rawJSON(source)
    return isObject(value) ? withSafeNames(value) : value
  })
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function withSafeNames(object: Record<string, unknown>): Record<string, unknown> {
  if (Object.keys(object).every((name) => safeText(name) === name)) return object
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [safeText(name), value]))
}
