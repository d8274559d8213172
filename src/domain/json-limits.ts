import { hasLongerArray, nestingDepth } from './json-walk.ts'

/** Any reader of listings should cope with these. */
const MAX_NESTING = 32
const MAX_ARRAY_ITEMS = 1000

/** `null` within the limit. Never throws. */
export function depthProblem(text: Uint8Array): string | null {
  const depth = nestingDepth(text)
  return depth > MAX_NESTING ? `JSON is nested ${depth} deep; at most ${MAX_NESTING} is allowed` : null
}

/** The listing adds one level. */
export function memberDepthProblem(text: Uint8Array): string | null {
  const depth = nestingDepth(text) + 1
  return depth > MAX_NESTING
    ? `The listing would be nested ${depth} deep; at most ${MAX_NESTING} is allowed`
    : null
}

export function sizeProblem(text: Uint8Array): string | null {
  return hasLongerArray(text, MAX_ARRAY_ITEMS) ? `An array has more than ${MAX_ARRAY_ITEMS} items` : null
}
