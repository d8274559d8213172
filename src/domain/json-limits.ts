import { hasLongerArray, nestingDepth } from './json-walk.ts'

/** What any reader of a listing can be expected to take. */
const MAX_NESTING = 32
const MAX_ARRAY_ITEMS = 1000

/** Why a JSON text is refused although it is JSON; `null` where it keeps to the limits. Never throws. */
export const depthProblem = (text: Uint8Array): string | null => {
  const depth = nestingDepth(text)
  return depth > MAX_NESTING ? `JSON is nested ${depth} deep; at most ${MAX_NESTING} is allowed` : null
}

/** The same of a member of a listing, which the listing nests one level deeper. */
export function memberDepthProblem(text: Uint8Array): string | null {
  const depth = nestingDepth(text) + 1
  return depth > MAX_NESTING
    ? `The listing would be nested ${depth} deep; at most ${MAX_NESTING} is allowed`
    : null
}

/** Likewise for the length of its arrays. */
export function sizeProblem(text: Uint8Array): string | null {
  return hasLongerArray(text, MAX_ARRAY_ITEMS) ? `An array has more than ${MAX_ARRAY_ITEMS} items` : null
}
