/**
 * Characters that act on a terminal or hide text: controls, line separators, and everything that Unicode lets a renderer
 * leave out (`Default_Ignorable_Code_Point`, UAX #44: direction marks, zero-width characters, variation selectors,
 * fillers, tags), and interlinear annotations. One rule for the terminal, the pages and agents.
 */
const UNSAFE = /[\p{Cc}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]/gu

/** Text to be shown: unsafe characters become visible escapes, lone surrogates U+FFFD. */
export function safeText(text: string): string {
  return text.toWellFormed().replace(UNSAFE, escapeUnits)
}

/** JSON text to be shown: the same value, with unsafe characters inside its strings as escapes. */
export function safeJson(json: string): string {
  return json.replace(UNSAFE, (character) =>
    /[\t\n\r]/.test(character) ? character : escapeUnits(character),
  )
}

function escapeUnits(character: string): string {
  return Array.from(
    { length: character.length },
    (_, n) => `\\u${character.charCodeAt(n).toString(16).padStart(4, '0')}`,
  ).join('')
}
