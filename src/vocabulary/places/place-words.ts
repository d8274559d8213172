/** A run of letters, or the digits of a number. */
export type PlaceWord = {
  /** As it is written, without accents. */
  raw: string
  /** In lower case. */
  text: string
  isNumber: boolean
  /** Whether nothing separates it from the word before. */
  isGlued: boolean
}

/** Longer texts are not read. */
const MAX_PLACE_LENGTH = 200

/** The text without accents and outer spaces; `null` for one that is too long. */
export function plainText(text: string): string | null {
  if (text.length > MAX_PLACE_LENGTH) return null
  const plain = text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replaceAll('&', ' and ')
    .trim()
  return plain.length > MAX_PLACE_LENGTH ? null : plain
}

/** The words of a plain text: `us-central1` is `us`, `central`, `1`. */
export function placeWords(plain: string): readonly PlaceWord[] {
  let end = -1
  return Array.from(plain.matchAll(/\p{L}+|\p{N}+/gu), ({ 0: raw, index }) => {
    const isGlued = index === end
    end = index + raw.length
    return { raw, text: raw.toLowerCase(), isNumber: /^\p{N}/u.test(raw), isGlued }
  })
}

/** Equal for names that differ in case, accents and separators only; empty for a text without letters and digits. */
export const nameKey = (text: string): string => keyOfWords(placeWords(plainText(text) ?? ''))

export const keyOfWords = (words: readonly PlaceWord[]): string => words.map(({ text }) => text).join(' ')
