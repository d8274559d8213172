import { safeText } from '../domain/safe-text.ts'

/** TypeScript's library lacks these (ECMAScript 2026, JSON.parse source text access). */
const parseWithSource = JSON.parse as (
  text: string,
  reviver: (name: string, value: unknown, context: { source: string }) => unknown,
) => unknown
const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => unknown }

/**
 * For output only: hidden characters become visible escapes, and numbers keep their digits (`1.0`).
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
