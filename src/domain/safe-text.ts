/** Controls, separators and all that a renderer may omit (UAX #44): they act on a terminal or hide text. */
const UNSAFE = /[\p{Cc}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]/gu

/** Replaces unsafe characters with visible escapes, lone surrogates with U+FFFD. */
export function safeText(text: string): string {
  return text.toWellFormed().replace(UNSAFE, escapeUnits)
}

/** The same JSON value, with unsafe characters in its strings escaped. */
export function safeJson(json: string): string {
  return json.replace(UNSAFE, (character) =>
    /[\t\n\r]/.test(character) ? character : escapeUnits(character),
  )
}

/** A URL for messages, which must not show its user and password. */
export const redactCredentials = (url: string): string => url.replace(/\/\/[^/]*@/, '//…@')

function escapeUnits(character: string): string {
  return Array.from(
    { length: character.length },
    (_, n) => `\\u${character.charCodeAt(n).toString(16).padStart(4, '0')}`,
  ).join('')
}
