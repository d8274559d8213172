/**
 * Characters by which text that a stranger wrote could act on a terminal or deceive its reader: C0, DEL and C1
 * controls, line separators, direction marks and overrides, invisible characters and tags.
 */
const UNSAFE =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu

/** Text for a terminal: what is unsafe is shown as its escape, never sent. */
export const safeText = (text: string): string => text.toWellFormed().replace(UNSAFE, escapeUnits)

/** JSON text for a terminal: the same value, with unsafe characters inside its strings written as escapes. */
export const safeJson = (json: string): string =>
  json.replace(UNSAFE, (character) => (/[\t\n\r]/.test(character) ? character : escapeUnits(character)))

const escapeUnits = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, n) => `\\u${character.charCodeAt(n).toString(16).padStart(4, '0')}`,
  ).join('')
