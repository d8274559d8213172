import { BRACE_BIT, CLOSE_BRACE, COMMA, JsonScanner, OPEN_BRACE, OPEN_BRACKET, QUOTE } from './scanner.ts'

/** Any reader of listings should cope with these. */
const MAX_NESTING = 32
const MAX_ARRAY_ITEMS = 1000

/** `null` within the limit. Never throws. */
export function depthProblem(text: Uint8Array): string | null {
  const depth = nestingDepth(text)
  return depth > MAX_NESTING ? `JSON is nested ${depth} deep; at most ${MAX_NESTING} is allowed` : null
}

export function sizeProblem(text: Uint8Array): string | null {
  return hasLongerArray(text, MAX_ARRAY_ITEMS) ? `An array has more than ${MAX_ARRAY_ITEMS} items` : null
}

/** 0 for a scalar. Never throws, whatever the bytes. */
export function nestingDepth(bytes: Uint8Array): number {
  const scanner = new JsonScanner(bytes)
  let depth = 0
  let deepest = 0
  for (let position = 0; position < bytes.length; position++) {
    const byte = bytes[position]!
    if (byte === QUOTE) position = scanner.stringEnd(position) - 1
    else if ((byte | BRACE_BIT) === OPEN_BRACE) deepest = Math.max(deepest, ++depth)
    else if ((byte | BRACE_BIT) === CLOSE_BRACE) depth--
  }
  return deepest
}

/** Never throws, whatever the bytes. */
export function hasLongerArray(bytes: Uint8Array, max: number): boolean {
  const scanner = new JsonScanner(bytes)
  const commas: number[] = []
  for (let position = 0; position < bytes.length; position++) {
    const byte = bytes[position]!
    if (byte === QUOTE) position = scanner.stringEnd(position) - 1
    else if ((byte | BRACE_BIT) === OPEN_BRACE)
      commas.push(byte === OPEN_BRACKET ? 0 : Number.NEGATIVE_INFINITY)
    else if ((byte | BRACE_BIT) === CLOSE_BRACE) commas.pop()
    else if (byte === COMMA && commas.length > 0 && ++commas[commas.length - 1]! >= max) return true
  }
  return false
}
