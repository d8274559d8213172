import { safeJson } from '../domain/safe-text.ts'

/**
 * Words of strangers are always in quotes, and ours never: a JSON text with hidden characters as escapes, cut where it has more than
 * `maxBytes` with its quotes.
 */
export function quoted(text: string, maxBytes: number): string {
  const whole = quote(text.slice(0, maxBytes))
  if (text.length <= maxBytes && Buffer.byteLength(whole) <= maxBytes) return whole
  let kept = ''
  let bytes = Buffer.byteLength(quote('…'))
  for (const character of text.slice(0, maxBytes).toWellFormed()) {
    bytes += Buffer.byteLength(quote(character)) - 2
    if (bytes > maxBytes) break
    kept += character
  }
  return quote(`${kept}…`)
}

const quote = (text: string): string => safeJson(JSON.stringify(text))

/** Names and ids without quotes where they cannot be read as a sentence: one word of letters, digits and `_.:/-`. */
export function plainName(name: string, maxBytes: number): string {
  return name.length <= maxBytes && /^[\w.:/*-]+$/.test(name) ? name : quoted(name, maxBytes)
}
