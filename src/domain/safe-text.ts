/** Controls, separators and all that a renderer may omit (UAX #44): they act on a terminal or hide text. */
const UNSAFE = /[\p{Cc}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]/gu

/**
 * Invisible characters that shape what is beside them: within an emoji, and between letters of scripts that join them
 * (RFC 5892 appendix A.1 and A.2).
 */
const SHAPING = [
  /(?<=\p{Extended_Pictographic})\ufe0f/u,
  /(?<=\p{Extended_Pictographic}[\ufe0f\u{1f3fb}-\u{1f3ff}]?)\u200d(?=\p{Extended_Pictographic})/u,
  /(?<=\p{Script=Arabic}\p{M}?)\u200c(?=\p{Script=Arabic})/u,
  /(?<=[\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d])[\u200c\u200d](?=\p{L})/u,
]

const SHAPING_OR_UNSAFE = new RegExp(
  `(${SHAPING.map(({ source }) => source).join('|')})|${UNSAFE.source}`,
  'gu',
)

/** Replaces unsafe characters with visible escapes, lone surrogates with U+FFFD. */
export function safeText(text: string): string {
  return text
    .toWellFormed()
    .replace(SHAPING_OR_UNSAFE, (character, shaping?: string) => shaping ?? escapeUnits(character))
}

/** The same JSON value, with unsafe characters in its strings escaped. */
export function safeJson(json: string): string {
  return json.replace(UNSAFE, (character) =>
    /[\t\n\r]/.test(character) ? character : escapeUnits(character),
  )
}

/** Slashes may be missing, or be backslashes (URL standard, special authority slashes). */
const CREDENTIALS = /^((?:[a-z][a-z\d+.-]*:[/\\]*|[/\\]{2,})?)[^/\\]*@/i

/** A URL for messages, which must not show its user and password. */
export const redactCredentials = (url: string): string => url.replace(CREDENTIALS, '$1…@')

function escapeUnits(character: string): string {
  return Array.from(
    { length: character.length },
    (_, n) => `\\u${character.charCodeAt(n).toString(16).padStart(4, '0')}`,
  ).join('')
}
