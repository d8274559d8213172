/** TypeScript's library does not know these yet (ECMAScript 2026, JSON.parse source text access). */
const parseWithSource = JSON.parse as (
  text: string,
  reviver: (name: string, value: unknown, context: { source: string }) => unknown,
) => unknown
const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => unknown }

/**
 * A value whose numbers keep their digits when it is written as JSON again: `1.0` stays `1.0`, and an integer of any
 * size stays exact. Only for values that are written and never computed with.
 * @throws SyntaxError
 */
export const parseExact = (json: string): unknown =>
  parseWithSource(json, (_name, value, { source }) =>
    typeof value === 'number' && String(value) !== source ? rawJSON(source) : value,
  )
